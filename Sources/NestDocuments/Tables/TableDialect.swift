/// What stands between the cells of a table.
package enum TableDialect: Sendable {
    /// Commas; or semicolons or tabs, when the first line that is read has more of them.
    case commas
    case tabs

    /// What is written.
    var delimiter: UInt8 {
        switch self {
        case .commas: UInt8(ascii: ",")
        case .tabs: UInt8(ascii: "\t")
        }
    }

    /// What a first line is read with.
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
