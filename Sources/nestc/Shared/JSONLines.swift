import NestDocuments

/// Reads standard input as one JSON object a line. Skips blank lines.
struct JSONLines: ~Copyable {
    private var file: InputFile
    private var rest: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    private(set) var line = 0

    init() throws {
        self.file = try InputFile("-")
    }

    /// Returns the members of the next object, or `nil` at the end.
    mutating func next() throws -> [JSONElement.Member]? {
        while let bytes = try self.nextLine() {
            self.line += 1
            guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0d }) else { continue }
            return try JSONElement.parseObject(bytes, line: self.line)
        }
        return nil
    }

    private mutating func nextLine() throws -> [UInt8]? {
        while true {
            if let end = self.rest[self.start...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { self.start = end + 1 }
                return Array(self.rest[self.start..<end])
            }
            if self.isAtEnd {
                defer { self.start = self.rest.count }
                return self.start == self.rest.count ? nil : Array(self.rest[self.start...])
            }
            self.rest.removeFirst(self.start)
            self.start = 0
            if let piece = try self.file.next() { self.rest += piece } else { self.isAtEnd = true }
        }
    }

    /// Runs `body`. Adds the number of the line to its errors about names and values.
    func naming<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let failure as CommandFailure where failure.status == .usage {
            throw CommandFailure(.badInput, "line \(self.line): \(failure.message)")
        }
    }
}
