"""What every room uses and no reader looks for: errors, threads, files, the machine's memory."""
