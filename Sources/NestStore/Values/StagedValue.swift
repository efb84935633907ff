import NestModel

/// A large value that has arrived whole: its pieces are in a spool file until the store has it. Its digest
/// is not checked yet, nor that a text is UTF-8.
package struct StagedValue: Sendable {
    package let type: AttributeType
    package let length: Int
    /// The SHA-256 that the sender has stated.
    package let digest: [UInt8]
    /// Pieces of `Limits.largeValuePieceBytes`; the last one may be shorter.
    package let chunks: SpooledChunks

    /// Precondition: the type is that of a large value, and the pieces have `length` bytes.
    package init(type: AttributeType, length: Int, digest: [UInt8], chunks: SpooledChunks) {
        precondition(type.isLarge && digest.count == LargeValue.digestBytes, "a large value")
        self.type = type
        self.length = length
        self.digest = digest
        self.chunks = chunks
    }
}

/// A large value at one revision, from an offset, read completely and kept in a spool file: it needs no open read
/// transaction.
package struct ValueExport: Sendable {
    package let revision: Revision
    package let type: AttributeType
    package let value: LargeValue
    package let chunks: SpooledChunks
    /// The bytes from the offset on.
    package let byteCount: Int
    package let checksum: UInt64
}

/// Checks the bytes of a large value that arrive in parts: their number, their digest, and that a text is UTF-8 without
/// NUL, as a string is.
struct ValueVerifier: ~Copyable {
    private let type: AttributeType
    private var hash = RunningHash()
    private(set) var length = 0
    /// The bytes of a character that the next part continues.
    private var tail: [UInt8] = []
    private var isText = true

    init(_ type: AttributeType) {
        self.type = type
    }

    mutating func add(_ bytes: [UInt8]) {
        self.length += bytes.count
        self.hash.update(bytes)
        guard self.type == .largeText, self.isText else { return }
        let text = self.tail + bytes
        let end = Self.endOfWholeCharacters(text)
        self.tail = Array(text[end...])
        self.isText = !text.contains(0) && String(validating: text[..<end], as: UTF8.self) != nil
    }

    /// Returns what is wrong with the value, or `nil`.
    consuming func fault(length: Int, digest: [UInt8]) -> NestError? {
        guard self.length == length else {
            return NestError(.checksum, "the value has \(self.length) bytes, but its length is stated as \(length)")
        }
        let isText = self.isText && self.tail.isEmpty
        guard self.hash.finishWhole() == digest else {
            return NestError(.checksum, "the SHA-256 of the value differs from the stated one")
        }
        return isText ? nil : NestError(.invalidText, "the value is not UTF-8, or holds a NUL character")
    }

    /// Returns where the last character begins if it may be incomplete, otherwise the end.
    private static func endOfWholeCharacters(_ text: [UInt8]) -> Int {
        for back in 1...3 where back <= text.count {
            let byte = text[text.count - back]
            if byte & 0xc0 == 0x80 { continue }
            let needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
            return needed > back ? text.count - back : text.count
        }
        return text.count
    }
}
