/// A file that appears under its name only when it is complete.
final class OutputFile {
    private let path: String
    private let temporary: String
    private let file: Int32
    private var isCommitted = false

    init(_ path: String, mode: mode_t = 0o666) throws {
        self.path = path
        self.temporary = "\(path).\(getpid()).part"
        // Never through a file or link that somebody else has put there: a backup holds secrets.
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

    /// The name is on the disk too. Not every file system can do that for a directory.
    private func synchronizeDirectory() throws {
        let directory = self.path.lastIndex(of: "/").map { String(self.path[...$0]) } ?? "."
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw CommandFailure(.inputOutput, "cannot write '\(self.path)': \(errorText(errno))")
        }
    }

    /// The file is complete: puts it on the disk under its name.
    func commit() throws {
        guard fsync(self.file) == 0 || errno == EINVAL, rename(self.temporary, self.path) == 0 else {
            throw CommandFailure(.inputOutput, "cannot write '\(self.path)': \(errorText(errno))")
        }
        self.isCommitted = true
        try self.synchronizeDirectory()
    }
}
