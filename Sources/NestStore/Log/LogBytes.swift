import NestModel
import NestProtocol

/// The bytes of a record: in memory if they are few, otherwise in a spool file. They never change: who sends a record
/// again sends the same bytes.
package struct LogBytes: Sendable {
    private enum Place: Sendable {
        case memory([UInt8])
        case file(SpoolFile)
    }

    private let place: Place
    package let count: Int

    package init(_ bytes: [UInt8]) {
        self.place = .memory(bytes)
        self.count = bytes.count
    }

    fileprivate init(_ file: SpoolFile, count: Int) {
        self.place = .file(file)
        self.count = count
    }

    package var isInMemory: Bool { if case .memory = self.place { true } else { false } }

    /// Whether the bytes are one row of the log; otherwise they are stored in parts.
    package var isBody: Bool { self.count <= Limits.logBodyBytesMax }

    /// Returns exactly the bytes of a range that is within the record.
    package func bytes(_ range: Range<Int>) throws(StoreError) -> [UInt8] {
        switch self.place {
        case .memory(let bytes): Array(bytes[range])
        case .file(let file): try file.read(count: range.count, at: range.lowerBound)
        }
    }

    /// All bytes. Only for a record that is known to be small.
    package func all() throws(StoreError) -> [UInt8] { try self.bytes(0..<self.count) }

    /// The number of parts of `Limits.logPartBytes`.
    package var partCount: Int { (self.count + Limits.logPartBytes - 1) / Limits.logPartBytes }

    package func part(_ index: Int) throws(StoreError) -> [UInt8] {
        let start = index * Limits.logPartBytes
        return try self.bytes(start..<min(start + Limits.logPartBytes, self.count))
    }

    package func forEachPart(_ body: ([UInt8]) throws(StoreError) -> Void) throws(StoreError) {
        for index in 0..<self.partCount { try body(try self.part(index)) }
    }
}

/// Collects the bytes of a record: the first ones in memory, and all of them in a spool file when they become many.
package struct LogBytesWriter {
    private let directory: String
    private let memoryMax: Int
    private var memory: [UInt8] = []
    private var file: SpoolFile?
    package private(set) var count = 0

    /// `directory`: where a spool file is created. `memoryMax`: the most bytes that stay in memory.
    package init(directory: String, memoryMax: Int = Limits.logBodyBytesMax) {
        self.directory = directory
        self.memoryMax = memoryMax
    }

    package mutating func append(_ bytes: [UInt8]) throws(StoreError) {
        if let file {
            try file.write(bytes, at: self.count)
        } else if self.count + bytes.count <= self.memoryMax {
            self.memory += bytes
        } else {
            let file = try SpoolFile(directory: self.directory)
            try file.write(self.memory + bytes, at: 0)
            self.file = file
            self.memory = []
        }
        self.count += bytes.count
    }

    package consuming func finish() -> LogBytes {
        if let file = self.file { LogBytes(file, count: self.count) } else { LogBytes(self.memory) }
    }
}
