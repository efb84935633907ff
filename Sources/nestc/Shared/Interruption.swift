/// Lets Ctrl-C end a wait for standard input. Without this, the thread that waits would still take the line that the
/// user types next, for the shell.
enum Interruption {
    private static let ends: (reader: Int32, writer: Int32) = {
        var ends: [Int32] = [-1, -1]
        // Without a pipe a wait ends with the process, half a second later.
        guard pipe(&ends) == 0 else { return (-1, -1) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }()

    /// Ends the waits of this process, now and later.
    static func send() {
        // An end that no process writes to any more can be read at once.
        if self.ends.writer >= 0 { close(self.ends.writer) }
    }

    /// Waits until the file can be read. Returns `false` if an interruption came first.
    static func waits(for file: Int32) -> Bool {
        var files = [
            pollfd(fd: file, events: Int16(POLLIN), revents: 0),
            pollfd(fd: self.ends.reader, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&files, nfds_t(files.count), -1) < 0 {
            if errno != EINTR { return true }
        }
        return files[1].revents == 0
    }
}
