/// The delimiter between the cells of a table.
package enum TableDialect: Sendable {
    /// Commas; when reading, semicolons or tabs if the first line has more of them.
    case commas
    case tabs

    /// The delimiter to write.
    var delimiter: UInt8 {
        switch self {
        case .commas: UInt8(ascii: ",")
        case .tabs: UInt8(ascii: "\t")
        }
    }

    /// The delimiter of a file with this first line.
    func delimiter(of line: ArraySlice<UInt8>) -> UInt8 {
        guard case .commas = self else { return self.delimiter }
        var counts: [UInt8: Int] = [:]
        var isQuoted = false
        for byte in line {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if !isQuoted { counts[byte, default: 0] += 1 }
        }
        let candidates = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]
        return candidates.max { (counts[$0] ?? 0, -Int($0)) < (counts[$1] ?? 0, -Int($1)) } ?? self.delimiter
    }
}
