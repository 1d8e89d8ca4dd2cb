"""What all modules share: errors, types, threads, files, the machine's memory."""
