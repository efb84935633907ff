import Foundation

/// What a comparison of text does not tell apart. The one place where nest looks at letters; everything else compares
/// UTF-8 bytes.
public struct TextFolding: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// `[c]`: lower-cased, upper-cased, then lower-cased again, by the full mappings of Unicode, the same in every locale.
    /// Without the first the capital sharp s would fold to the small one, and only that to two of s: folded text stays as
    /// it is when it is folded again.
    public static let caseInsensitive = TextFolding(rawValue: 1)
    /// `[d]`: canonically decomposed, without nonspacing marks (general category Mn).
    public static let diacriticInsensitive = TextFolding(rawValue: 2)

    /// The text by whose bytes texts are compared. O(n); text of ASCII alone needs no tables.
    public func fold(_ text: String) -> String {
        guard !self.isEmpty else { return text }
        if let folded = self.foldASCII(text) { return folded }
        var text = text
        if self.contains(.diacriticInsensitive) {
            var kept = String.UnicodeScalarView()
            for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars
            where scalar.properties.generalCategory != .nonspacingMark {
                kept.append(scalar)
            }
            text = String(kept)
        }
        return self.contains(.caseInsensitive) ? text.lowercased().uppercased().lowercased() : text
    }

    private func foldASCII(_ text: String) -> String? {
        var text = text
        return text.withUTF8 { bytes -> String? in
            guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
            guard self.contains(.caseInsensitive) else { return String(decoding: bytes, as: UTF8.self) }
            return String(unsafeUninitializedCapacity: bytes.count) { buffer in
                for (index, byte) in bytes.enumerated() {
                    let isUpper = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
                    buffer[index] = isUpper ? byte | 0x20 : byte
                }
                return bytes.count
            }
        }
    }
}
