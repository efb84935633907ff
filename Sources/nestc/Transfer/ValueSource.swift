import NestClient

/// A file whose length and digest are known before it is read. What is no regular file is copied to a temporary one.
final class ValueSource {
    private let file: Int32
    private let name: String
    let length: Int
    let digest: [UInt8]
    private var piece = [UInt8](repeating: 0, count: 256 << 10)

    /// `bytesMax`: a longer file is refused, and not read further.
    init(_ path: String, bytesMax: Int) throws {
        var input = try InputFile(path)
        self.name = path == "-" ? "standard input" : "'\(path)'"
        let isRegular = path != "-" && input.byteCount != nil
        let file = isRegular ? open(path, O_RDONLY | O_CLOEXEC) : try Self.temporaryFile()
        guard file >= 0 else { throw CommandFailure(.missingInput, "cannot open '\(path)': \(errorText(errno))") }
        self.file = file
        var digest = LargeValueDigest()
        var length = 0
        do {
            while let part = try input.next() {
                length += part.count
                guard length <= bytesMax else {
                    throw CommandFailure(.badInput, "\(self.name) has over \(bytesMax) bytes, the maximum of a value")
                }
                digest.add(part)
                if !isRegular { try writeAll(part, to: file) }
            }
        } catch {
            close(file)
            throw error
        }
        self.length = length
        self.digest = digest.value
        _ = lseek(file, 0, SEEK_SET)
    }

    deinit { close(self.file) }

    /// Creates a file that has no name and ends with the process.
    private static func temporaryFile() throws -> Int32 {
        let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(directory)/nestc-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else {
            throw CommandFailure(.inputOutput, "cannot create a file in '\(directory)': \(errorText(errno))")
        }
        unlink(template)
        return file
    }

    /// Returns the next bytes, or `nil` at the end. The server refuses a file that has changed since its digest.
    func next() throws -> [UInt8]? {
        let count = readBytes(self.file, &self.piece)
        guard count >= 0 else { throw CommandFailure(.inputOutput, "cannot read \(self.name): \(errorText(errno))") }
        return count == 0 ? nil : Array(self.piece[..<count])
    }
}
