/// A file, or standard input for `-`, that is read in pieces.
struct InputFile: ~Copyable {
    private let file: Int32
    private let name: String
    /// `nil` if the size is unknown, as for a pipe.
    let byteCount: Int?
    private var piece = [UInt8](repeating: 0, count: 256 << 10)

    init(_ path: String) throws {
        if path == "-" {
            self.file = STDIN_FILENO
            self.name = "standard input"
            self.byteCount = Self.byteCount(STDIN_FILENO)
            return
        }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw CommandFailure(.missingInput, "cannot open '\(path)': \(errorText(errno))") }
        self.file = file
        self.name = "'\(path)'"
        self.byteCount = Self.byteCount(file)
    }

    private static func byteCount(_ file: Int32) -> Int? {
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    deinit {
        if self.file != STDIN_FILENO { close(self.file) }
    }

    /// Returns the next bytes, or `nil` at the end.
    mutating func next() throws -> [UInt8]? {
        let count = readBytes(self.file, &self.piece)
        guard count >= 0 else { throw CommandFailure(.inputOutput, "cannot read \(self.name): \(errorText(errno))") }
        return count == 0 ? nil : Array(self.piece[..<count])
    }
}
