/// What a row has of a value that is outside the rows: an attribute of the type `largeData` or `largeText`. The bytes
/// are sent with PUT_VALUE and read with GET_VALUE. A large value never changes: another one takes its place.
public struct LargeValue: Hashable, Sendable {
    /// The number of the value in its store.
    public let id: Int64
    /// The number of bytes.
    public let length: Int
    /// The SHA-256 of the bytes.
    public let digest: [UInt8]

    /// The number of bytes of `bytes`.
    public static let byteCount = 48
    package static let digestBytes = 32

    package init(id: Int64, length: Int, digest: [UInt8]) {
        precondition(digest.count == Self.digestBytes, "a digest is a SHA-256")
        self.id = id
        self.length = length
        self.digest = digest
    }

    /// Returns `nil` if the bytes are not those of a large value.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        let id = bytes[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let length = bytes[8..<16].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let id = Int64(exactly: id), id > 0, length <= UInt64(Limits.largeValueBytesMax) else { return nil }
        self.init(id: id, length: Int(length), digest: Array(bytes[16...]))
    }

    /// Returns `nil` if the value is not that of an attribute of a large type.
    public init?(_ value: AttributeValue) {
        guard case .data(let bytes) = value else { return nil }
        self.init(bytes)
    }

    /// The value in rows and transactions: id and length in eight bytes each, big-endian, then the digest.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        withUnsafeBytes(of: UInt64(self.id).bigEndian) { bytes += $0 }
        withUnsafeBytes(of: UInt64(self.length).bigEndian) { bytes += $0 }
        return bytes + self.digest
    }

    public var value: AttributeValue { .data(self.bytes) }

    /// The digest in hexadecimal digits.
    public var hexDigest: String {
        let digits = Array("0123456789abcdef")
        return String(self.digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
