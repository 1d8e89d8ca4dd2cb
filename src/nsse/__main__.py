"""``python -m nsse`` is the command ``nsse``."""

from nsse.cli import main

if __name__ == "__main__":
    main()
