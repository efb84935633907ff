/// The columns of a table, by the names in its first line.
struct TableColumns: Sendable {
    /// The meaning of a column. A column with any other name goes into the item's `extra`.
    private enum Role: String, CaseIterable {
        case title, note, done, depth, id, parent, extra

        /// In lower case.
        func names(_ fields: OutlineFields) -> [String] {
            let own: String?
            switch self {
            case .title: own = fields.title
            case .note: own = fields.note
            case .done: own = fields.done
            case .depth, .id, .parent, .extra: return self.names
            }
            let names = fields.names(of: own, others: self.names) { $0.lowercased() == $1 }
            return names.map { $0.lowercased() }
        }

        var names: [String] {
            switch self {
            case .title: ["title", "text", "name", "content", "task"]
            case .note: ["note", "notes", "_note", "description"]
            case .done: ["done", "completed", "complete", "checked"]
            case .depth: ["depth", "level", "indent"]
            case .id: ["id"]
            case .parent: ["parent", "parent_id", "parentid", "parent id"]
            case .extra: ["extra"]
            }
        }
    }

    private var columns: [Role: Int] = [:]
    private var attributes: [(column: Int, name: String)] = []
    private var foreign: [(column: Int, name: String)] = []
    private let count: Int

    /// Whether these look like the names of columns, with a title among them.
    static func isHeader(_ names: [String]) -> Bool {
        let known = names.map { $0.lowercased().trimmingSpaces() }
        return known.count > 1 && known.contains { Role.title.names.contains($0) }
            && known.filter { name in Role.allCases.contains { $0.names.contains(name) } }.count > 1
    }

    init(_ header: [TableScanner.Cell], _ fields: OutlineFields) throws(FormatError) {
        self.count = header.count
        var names: Set<String> = []
        let keys = header.map { $0.text.lowercased().trimmingSpaces() }
        for (column, key) in keys.enumerated() {
            let name = key.isEmpty ? "column \(column + 1)" : header[column].text.trimmingSpaces()
            guard names.insert(name).inserted else {
                throw header[column].location.failure("a second column \"\(name)\"")
            }
        }
        for role in Role.allCases {
            self.columns[role] = role.names(fields).lazy.compactMap { keys.firstIndex(of: $0) }.first
        }
        for (column, cell) in header.enumerated() where !self.columns.values.contains(column) {
            let name = cell.text.trimmingSpaces()
            if fields.attributes.contains(name) {
                self.attributes.append((column, name))
            } else {
                self.foreign.append((column, name.isEmpty ? "column \(column + 1)" : name))
            }
        }
        guard self.columns[.title] != nil else {
            let others = ["level", "parent", "id"] + [fields.note, fields.done].compactMap { $0 } + fields.attributes
            let names = (others + (fields.hasExtra ? ["extra"] : [])).joined(separator: ", ")
            throw FormatError(
                line: header.first?.location.line ?? 1,
                column: 1,
                "the first line must name a column \"\(fields.title)\"; it may also name \(names)"
            )
        }
    }

    /// Returns the item of a record.
    func item(_ record: [TableScanner.Cell]) throws(FormatError) -> (row: OutlineRow, position: TreePosition) {
        if let surplus = record.dropFirst(self.count).first(where: { !$0.text.isEmpty }) {
            throw surplus.location.failure("a cell after the last column")
        }
        var row = OutlineRow(depth: 0, title: self.cell(.title, record)?.text ?? "")
        row.note = Self.text(self.cell(.note, record))
        if let cell = self.cell(.done, record) {
            guard let flag = DoneText.flag(cell.text.trimmingSpaces()) else {
                throw cell.location.failure("done is neither yes nor no but \"\(cell.text.prefix(60))\"")
            }
            row.done = flag
        }
        row.extra = self.extra(record)
        for (column, name) in self.attributes where column < record.count {
            let value: JSONElement = Self.text(record[column]).map { .string($0) } ?? .null
            row.attributes.append(OutlineAttribute(name, value, isText: true, location: record[column].location))
        }
        var position = TreePosition()
        if let cell = self.cell(.depth, record) {
            guard let depth = Int(cell.text.trimmingSpaces()), depth >= 0 else {
                throw cell.location.failure("the level is not a number from 0 but \"\(cell.text.prefix(60))\"")
            }
            position.depth = depth
        }
        position.id = self.cell(.id, record).flatMap { $0.text.isEmpty ? nil : $0.text }
        position.hasParent = self.columns[.parent] != nil
        position.parent = self.cell(.parent, record).flatMap { $0.text.isEmpty ? nil : $0.text }
        return (row, position)
    }

    private func cell(_ role: Role, _ record: [TableScanner.Cell]) -> TableScanner.Cell? {
        guard let column = self.columns[role], column < record.count else { return nil }
        return record[column]
    }

    /// Returns `nil` for an empty cell, unless it is in quotes.
    private static func text(_ cell: TableScanner.Cell?) -> String? {
        guard let cell, !cell.text.isEmpty || cell.isQuoted else { return nil }
        return cell.text
    }

    private func extra(_ record: [TableScanner.Cell]) -> String? {
        let own = Self.text(self.cell(.extra, record))
        var foreign = OutlineExtra()
        for (column, name) in self.foreign where column < record.count && !record[column].text.isEmpty {
            foreign[name] = .string(record[column].text)
        }
        guard !foreign.isEmpty else { return own }
        var merged = own.map { OutlineExtra($0) ?? OutlineExtra(extra: $0) } ?? OutlineExtra()
        for member in foreign.members { merged[member.name] = member.value }
        return merged.text
    }
}

extension String {
    /// The text without spaces and tabs at its ends.
    func trimmingSpaces() -> String {
        let isSpace = { (scalar: Unicode.Scalar) in scalar == " " || scalar == "\t" }
        let scalars = self.unicodeScalars.drop(while: isSpace)
        guard let last = scalars.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(scalars[...last])
    }
}
