import Foundation
import NestTestSupport
import Testing

/// Follows the events of `subscribe --json` as a reader of their description would: index paths of what leaves are those of the
/// old state, all others those of the new one.
struct EventReplay {
    struct Section: Equatable {
        var name: JSONValue
        var rows: [JSONValue]
    }

    private(set) var sections: [Section] = []
    private(set) var revision = 0
    private(set) var diffCount = 0

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
            #expect(try event["sectionsTotal"].int == self.sections.count)
        case "progress": self.revision = try event["revision"].int
        default: Issue.record("\(line)")
        }
        let total = try event.optional("total")?.int
        if let total { #expect(self.sections.reduce(0) { $0 + $1.rows.count } == total) }
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
            else { throw VectorError("an update is of an object") }
            #expect(try update["id"] == row["id"])
            row.merge(values) { $1 }
            self.sections[path.section].rows[path.row] = .object(row)
        }
    }
}
