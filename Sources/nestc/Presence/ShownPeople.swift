import NestClient
import NestDocuments
import NestModel

/// The other clients that are here, as text for a screen: in its header, and beside the rows that they are on.
struct ShownPeople: Equatable {
    private let others: [PresentClient]

    init(_ present: PresentClients = PresentClients()) { self.others = present.others }

    /// The sign before the names beside a row.
    static let sign = "◂"
    /// Names are cut to this many columns.
    private static let nameColumns = 16
    private static let namesMax = 3

    var isEmpty: Bool { self.others.isEmpty }

    /// How nestc calls a client: by its label, else by its session.
    static func name(_ client: PresentClient) -> String {
        if client.user != nil { return UserText.text(client.user) }
        return client.sessionNumber > 0 ? "s\(client.sessionNumber)" : "a client"
    }

    /// Returns names, of the first few.
    private static func names(_ clients: [PresentClient]) -> String {
        let names = clients.prefix(Self.namesMax).map { DisplayWidth.cut(Self.name($0), to: Self.nameColumns) }
        let more = clients.count - names.count
        return names.joined(separator: ", ") + (more > 0 ? " +\(more)" : "")
    }

    /// The texts for the header, from the longest form to the shortest; none without others.
    var headerForms: [String] {
        guard !self.others.isEmpty else { return [] }
        return ["with \(Self.names(self.others))", "with \(Counted.grouped(self.others.count))"]
    }

    /// Returns a row's line with those who are on the row, at its end. The row's text is cut for them if it must be.
    func beside(_ line: ScreenLine, _ row: ObjectID, columns: Int) -> ScreenLine {
        let here = self.others.filter { $0.place?.object == row }
        guard !here.isEmpty else { return line }
        let text = DisplayWidth.cut("\(Self.sign) \(Self.names(here))", to: max(columns / 3, 1))
        let start = columns - DisplayWidth.of(text)
        guard start > 0 else { return line }
        var line = line.cut(to: start - 1)
        line.add(StyledText(text, .cyan), at: min(line.end + 2, start))
        return line
    }

    /// A line for a list that is printed: `present: Ann at #3, ~Bob`.
    var sentence: String {
        guard !self.others.isEmpty else { return "present: no others" }
        return "present: "
            + self.others.map { client in
                Self.name(client) + (client.place?.object.map { " at #\($0)" } ?? "")
            }.joined(separator: ", ")
    }
}
