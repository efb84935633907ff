/// Reads the names in a start tag.
enum XMLTag {
    /// Returns the names of the attributes and of the declarations of namespaces, in their order. `tag` is well-formed
    /// and begins with `<`; its `>` may be missing.
    static func attributeNames(_ tag: some RandomAccessCollection<UInt8>) -> [String] {
        let isSpace = { (byte: UInt8) in [0x20, 0x09, 0x0a, 0x0d].contains(byte) }
        var names: [String] = []
        var rest = tag.drop { !isSpace($0) }
        while true {
            rest = rest.drop(while: isSpace)
            let name = rest.prefix { !isSpace($0) && $0 != UInt8(ascii: "=") }
            rest = rest[name.endIndex...].drop { isSpace($0) || $0 == UInt8(ascii: "=") }
            guard !name.isEmpty, let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
                let end = rest.dropFirst().firstIndex(of: quote)
            else { return names }
            names.append(String(decoding: name, as: UTF8.self))
            rest = rest[rest.index(after: end)...]
        }
    }
}
