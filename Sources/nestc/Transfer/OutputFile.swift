/// A file that appears under its name only when it is complete.
final class OutputFile {
    private let path: String
    private let temporary: String
    private let file: Int32
    private var isCommitted = false

    init(_ path: String) throws {
        self.path = path
        self.temporary = "\(path).\(getpid()).part"
        self.file = open(self.temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard self.file >= 0 else { throw CommandFailure(.inputOutput, "cannot write '\(path)': \(errorText(errno))") }
    }

    deinit {
        close(self.file)
        if !self.isCommitted { unlink(self.temporary) }
    }

    func write(_ bytes: [UInt8]) throws {
        try writeAll(bytes, to: self.file)
    }

    func commit() throws {
        guard fsync(self.file) == 0 || errno == EINVAL, rename(self.temporary, self.path) == 0 else {
            throw CommandFailure(.inputOutput, "cannot write '\(self.path)': \(errorText(errno))")
        }
        self.isCommitted = true
    }
}
