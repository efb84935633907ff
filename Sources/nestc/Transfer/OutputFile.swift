/// A file that appears under its name only when it is complete.
final class OutputFile {
    private let path: String
    private let temporary: String
    private let file: Int32
    private var isCommitted = false

    init(_ path: String, mode: mode_t = 0o666) throws {
        self.path = path
        self.temporary = "\(path).\(getpid()).part"
        // Never writes through an existing file or link, which another user may have created: a backup holds secrets.
        unlink(self.temporary)
        self.file = open(self.temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard self.file >= 0 else { throw CommandFailure(.inputOutput, "cannot write '\(path)': \(errorText(errno))") }
    }

    deinit {
        close(self.file)
        if !self.isCommitted { unlink(self.temporary) }
    }

    func write(_ bytes: [UInt8]) throws {
        try writeAll(bytes, to: self.file)
    }

    /// Writes the directory to the disk, with the file's name. Not every file system supports this.
    private func synchronizeDirectory() throws {
        let directory = self.path.lastIndex(of: "/").map { String(self.path[...$0]) } ?? "."
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw CommandFailure(.inputOutput, "cannot write '\(self.path)': \(errorText(errno))")
        }
    }

    /// Writes the complete file to the disk, under its name.
    func commit() throws {
        guard fsync(self.file) == 0 || errno == EINVAL, rename(self.temporary, self.path) == 0 else {
            throw CommandFailure(.inputOutput, "cannot write '\(self.path)': \(errorText(errno))")
        }
        self.isCommitted = true
        try self.synchronizeDirectory()
    }
}
