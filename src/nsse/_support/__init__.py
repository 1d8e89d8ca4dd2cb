"""Share code between all modules: errors, types, threads, files and memory."""
