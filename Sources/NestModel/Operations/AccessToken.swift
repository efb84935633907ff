/// Identifies a client to a server: a number, by which the server finds the token, and 256 secret bits.
///
/// `description` contains only the number; `text` contains the secret, for the file that stores the token.
public struct AccessToken: Hashable, Sendable, CustomStringConvertible {
    /// The public number.
    public let number: UInt64
    public let secret: TokenSecret

    public init(number: UInt64, secret: TokenSecret) {
        self.number = number
        self.secret = secret
    }

    private static let prefix = "nest_"

    /// Reads the format of `text`, with optional white space around it. Returns `nil` for any other text.
    public init?(text: String) {
        let bytes = text.utf8.drop { Self.isSpace($0) }
        let word = String(Substring(bytes.prefix { !Self.isSpace($0) }))
        guard bytes.dropFirst(word.utf8.count).allSatisfy(Self.isSpace), word.hasPrefix(Self.prefix) else { return nil }
        let parts = word.dropFirst(Self.prefix.count).split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt64(parts[0]), number > 0, number <= Limits.tokenNumberMax,
            parts[1].utf8.count == 64, !parts[1].utf8.contains(UInt8(ascii: "-")),
            let high = Identifier128(hex: String(parts[1].prefix(32))),
            let low = Identifier128(hex: String(parts[1].suffix(32)))
        else { return nil }
        self.init(number: number, secret: TokenSecret(high: high, low: low))
    }

    /// The token with its secret: `nest_NUMBER_SECRET`, the secret as 64 hexadecimal digits.
    public var text: String { "\(Self.prefix)\(self.number)_\(self.secret.high.hex)\(self.secret.low.hex)" }

    public var description: String { "token \(self.number)" }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
}

/// 256 secret bits, or their SHA-256. Never printed.
public struct TokenSecret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    public let high: Identifier128
    public let low: Identifier128

    public init(high: Identifier128, low: Identifier128) {
        self.high = high
        self.low = low
    }

    /// Makes a random secret. The generator must be cryptographically secure.
    public static func random(using generator: inout some RandomNumberGenerator) -> TokenSecret {
        TokenSecret(high: .random(using: &generator), low: .random(using: &generator))
    }

    public var description: String { "secret" }
    public var debugDescription: String { "secret" }
}
