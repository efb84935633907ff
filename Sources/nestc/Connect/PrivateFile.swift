/// Files with secrets. Only their owner may read them, and they appear complete or not at all.
enum PrivateFile {
    /// Returns the bytes of a file, at most `max`, or `nil` if there is no file. Throws if other users can read or
    /// write it.
    static func read(_ path: String, max: Int) throws -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw CommandFailure(.configuration, "cannot open \(path): \(errorText(errno))")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure(.configuration, "\(path) is not a regular file")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw CommandFailure(.configuration, "other users can read or write \(path): chmod 600 \(path)")
        }
        guard status.st_size <= max else { throw CommandFailure(.configuration, "\(path) is too large") }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= max {
            let count = readBytes(file, &buffer)
            guard count >= 0 else { throw CommandFailure(.configuration, "cannot read \(path): \(errorText(errno))") }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
        throw CommandFailure(.configuration, "\(path) is too large")
    }

    /// Writes a file with mode 0600, and creates its directories. If `isNew`, refuses to replace an existing file.
    static func write(_ bytes: [UInt8], to path: String, isNew: Bool = false) throws {
        if let end = path.lastIndex(of: "/") { try self.makeDirectory(String(path[..<end])) }
        let temporary = "\(path)~\(getpid())"
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw self.failure("create", temporary) }
        defer {
            close(file)
            unlink(temporary)
        }
        try writeAll(bytes, to: file)
        guard fsync(file) == 0 || errno == EINVAL else { throw self.failure("write", temporary) }
        guard (isNew ? link(temporary, path) : rename(temporary, path)) == 0 else { throw self.failure("create", path) }
    }

    private static func makeDirectory(_ directory: String) throws {
        var path = ""
        for part in directory.split(separator: "/", omittingEmptySubsequences: true) {
            path += (path.isEmpty && !directory.hasPrefix("/") ? "" : "/") + part
            if mkdir(path, 0o700) != 0, errno != EEXIST { throw self.failure("create", path) }
        }
    }

    private static func failure(_ verb: String, _ path: String) -> CommandFailure {
        CommandFailure(.configuration, "cannot \(verb) \(path): \(errorText(errno))")
    }
}
