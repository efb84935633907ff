import Foundation
import NestTestSupport
import Testing

/// Applies the events of `subscribe --json` as documented: index paths of deleted rows refer to the old state, all
/// others to the new state.
struct EventReplay {
    struct Section: Equatable {
        var name: JSONValue
        var rows: [JSONValue]
    }

    private(set) var sections: [Section] = []
    private(set) var revision = 0
    private(set) var diffCount = 0
    /// The window's position: the totals of the whole result, the rows and sections before the window, and its anchor.
    private(set) var position: [String: Int] = [:]
    private let hasWindow: Bool

    init(hasWindow: Bool = false) {
        self.hasWindow = hasWindow
    }

    /// The row ids in order.
    var ids: [Int] { get throws { try self.sections.flatMap(\.rows).map { try $0["id"].int } } }

    mutating func take(_ line: String) throws {
        let event = try JSONDecoder().decode(JSONValue.self, from: Data(line.utf8))
        switch try event["event"].text {
        case "snapshot":
            self.revision = try event["revision"].int
            self.sections = try event["sections"].elements.map {
                Section(name: try $0["name"], rows: try $0["rows"].elements)
            }
        case "diff":
            #expect(try event["from"].int <= self.revision)
            self.revision = try event["to"].int
            self.diffCount += 1
            try self.apply(event)
            if !self.hasWindow { #expect(try event["sectionsTotal"].int == self.sections.count) }
        case "progress", "resumed": self.revision = try event["revision"].int
        case "position" where self.hasWindow: break
        case "disconnected", "reset": return
        default: Issue.record("\(line)")
        }
        let total = try event.optional("total")?.int
        self.takePosition(event)
        if let total, !self.hasWindow { #expect(self.sections.reduce(0) { $0 + $1.rows.count } == total) }
    }

    private mutating func takePosition(_ event: JSONValue) {
        guard event.optional("first") != nil else { return }
        self.position = [:]
        for name in ["total", "sectionsTotal", "first", "firstSection", "firstInSection", "anchor"] {
            if case .integer(let value)? = event.optional(name) { self.position[name] = Int(value) }
        }
    }

    private func path(_ json: JSONValue) throws -> (section: Int, row: Int) {
        (try json.elements[0].int, try json.elements[1].int)
    }

    private mutating func apply(_ event: JSONValue) throws {
        let deleted = try event["deletedRows"].elements.map(self.path)
        let moves = try event["moves"].elements.map { (from: try self.path($0["from"]), to: try self.path($0["to"])) }
        let left = try event["left"].elements
        #expect(left.count == deleted.count)
        for (path, what) in zip(deleted, left) {
            #expect(try self.sections[path.section].rows[path.row]["id"] == what["id"])
        }
        let held = moves.map { self.sections[$0.from.section].rows[$0.from.row] }
        for path in (deleted + moves.map(\.from)).sorted(by: { $0 > $1 }) {
            self.sections[path.section].rows.remove(at: path.row)
        }
        for index in try event["deletedSections"].elements.map({ try $0.int }).reversed() {
            #expect(self.sections[index].rows.isEmpty)
            self.sections.remove(at: index)
        }
        for inserted in try event["insertedSections"].elements {
            self.sections.insert(Section(name: try inserted["name"], rows: []), at: try inserted["at"].int)
        }
        var arriving = zip(moves, held).map { (path: $0.to, row: $1) }
        arriving += try event["insertedRows"].elements.map { (path: try self.path($0["at"]), row: try $0["row"]) }
        for (path, row) in arriving.sorted(by: { $0.path < $1.path }) {
            self.sections[path.section].rows.insert(row, at: path.row)
        }
        for update in try event["updates"].elements {
            let path = try self.path(update["at"])
            guard case .object(var row) = self.sections[path.section].rows[path.row],
                case .object(let values) = try update["values"]
            else { throw VectorError("an update needs a row and values") }
            #expect(try update["id"] == row["id"])
            row.merge(values) { $1 }
            self.sections[path.section].rows[path.row] = .object(row)
        }
    }
}
