"""Exit with code 0 if /health/live answers 200 within 5 s; imports only light modules, because it runs every few seconds."""

import os
import socket
import sys

PATIENCE_S = 5.0


def main() -> int:
    """Return the exit code; print the error to standard error."""
    host, port = os.environ.get("REFLINK_HTTP_HOST", ""), os.environ.get("REFLINK_HTTP_PORT", "")
    if host in ("", "0.0.0.0", "::"):
        host = "127.0.0.1"
    try:
        with socket.create_connection((host, int(port)), PATIENCE_S) as connection:
            connection.sendall(b"GET /health/live HTTP/1.0\r\n\r\n")
            answer = connection.recv(64)
    except (OSError, ValueError) as error:
        print(f"healthcheck: {host}:{port}: {error}", file=sys.stderr)
        return 1
    status = answer.split(b" ", 2)[1:2]
    if status != [b"200"]:
        print(f"healthcheck: {host}:{port}: {answer!r}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
