import Foundation

/// Differences that a comparison of text ignores. Only this type interprets letters; all other code compares UTF-8
/// bytes.
public struct TextFolding: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// `[c]`, ignores case: maps to lower case, then upper case, then lower case again, with Unicode's full mappings,
    /// the same in every locale. The first step makes folding idempotent: without it the capital sharp s would fold to
    /// the small one, and only a second folding to "ss".
    public static let caseInsensitive = TextFolding(rawValue: 1)
    /// `[d]`, ignores diacritics: decomposes canonically and removes nonspacing marks (general category Mn).
    public static let diacriticInsensitive = TextFolding(rawValue: 2)

    /// Returns the folded text; folded texts are compared by their bytes. O(n); ASCII text needs no Unicode tables.
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

    /// Returns the folded text, composed canonically: what is left of a letter is one scalar again, also of a Korean
    /// syllable.
    package func composed(_ text: String) -> String {
        self.foldASCII(text) ?? self.fold(text).precomposedStringWithCanonicalMapping
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
