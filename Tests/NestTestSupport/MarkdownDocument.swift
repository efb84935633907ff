/// The tables and fenced blocks of a Markdown file, which tests compare with the code.
public struct MarkdownDocument: Sendable {
    public struct Table: Sendable {
        public var header: [String]
        public var rows: [[String]]
    }

    public struct Block: Sendable {
        /// The text after the opening fence, for example `vector name=ping`.
        public var label: String
        public var lines: [String]
    }

    public private(set) var tables: [Table] = []
    public private(set) var blocks: [Block] = []

    public init(_ text: String) {
        var table: Table?
        var block: Block?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("```") {
                if let finished = block {
                    self.blocks.append(finished)
                    block = nil
                } else {
                    block = Block(label: String(line.dropFirst(3)), lines: [])
                }
            } else if block != nil {
                block?.lines.append(line)
            } else if line.hasPrefix("|") {
                let cells = Self.cells(line)
                if table == nil {
                    table = Table(header: cells, rows: [])
                } else if cells.contains(where: { $0 != "---" }) {
                    table?.rows.append(cells)
                }
                continue
            }
            if let finished = table {
                self.tables.append(finished)
                table = nil
            }
        }
        if let table { self.tables.append(table) }
    }

    /// Returns the only table with this header.
    public func table(_ header: String...) throws -> Table {
        let found = self.tables.filter { $0.header == header }
        guard found.count == 1, let table = found.first, !table.rows.isEmpty else {
            throw VectorError("\(found.count) tables with the header \(header)")
        }
        guard table.rows.allSatisfy({ $0.count == header.count }) else {
            throw VectorError("a row of the table \(header) has another number of cells")
        }
        return table
    }

    /// Returns the trimmed cells of a row without backquotes.
    private static func cells(_ line: String) -> [String] {
        line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map { cell in
            var cell = cell.filter { $0 != "`" }
            while cell.first == " " { cell.removeFirst() }
            while cell.last == " " { cell.removeLast() }
            return String(cell)
        }
    }
}
