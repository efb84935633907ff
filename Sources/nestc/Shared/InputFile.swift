/// A file, or standard input for `-`, read piece by piece.
struct InputFile: ~Copyable {
    private let file: Int32
    private let name: String
    private var piece = [UInt8](repeating: 0, count: 256 << 10)

    init(_ path: String) throws {
        if path == "-" {
            self.file = STDIN_FILENO
            self.name = "standard input"
            return
        }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw CommandFailure(.missingInput, "cannot open '\(path)': \(errorText(errno))") }
        self.file = file
        self.name = "'\(path)'"
    }

    deinit {
        if self.file != STDIN_FILENO { close(self.file) }
    }

    /// The next bytes; `nil` at the end.
    mutating func next() throws -> [UInt8]? {
        let count = readBytes(self.file, &self.piece)
        guard count >= 0 else { throw CommandFailure(.inputOutput, "cannot read \(self.name): \(errorText(errno))") }
        return count == 0 ? nil : Array(self.piece[..<count])
    }
}
