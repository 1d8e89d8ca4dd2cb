"""What all modules share: errors, threads, files, the machine's memory."""
