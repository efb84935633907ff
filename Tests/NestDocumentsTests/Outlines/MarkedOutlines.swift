import NestDocuments
import NestModel
import NestTestSupport

/// Random outlines, and random files, with what Org, TaskPaper, Workflowy and Dynalist have marks for.
enum MarkedOutlines {
    private static let words = [
        "TODO", "DONE", "WAITING", "[#A]", ":a:", ":a:b:", "*", "**", "***", "\\", "\\* a", "@a", "@done", "@a(b)",
        "@due(2026-01-02)", "(", ")", "\\)", "@nest-extra(\"x\")", ":PROPERTIES:", ":END:", ":a: b", ":ID: 1",
        "SCHEDULED: <2026-01-02 Fri>", "#+TODO: A | B", "#+BEGIN_SRC", ",* a", "a:", ":", "-", "•", "[COMPLETE]",
        "[x]", "[ ]", "\"", "\"a\"", "a", "é", "\\x3a", "\\n", "@", "#x", "@done(x)", ":nest-extra: {}",
        "CLOSED: [2026-01-02 Fri 10:00]", "漢字", "",
    ]
    private static let joints = [" ", " ", " ", "", "\n", "\n\n", "\t", "\n  ", "  "]
    private static let starts = ["", "", "* ", "** ", "*** ", "\t", "\t\t", "  ", "- ", "  - ", "\t- ", "\""]

    private static func text(_ random: inout SeededRandom) -> String {
        (0..<random.below(5)).map { _ in Self.one(Self.words, &random) + Self.one(Self.joints, &random) }.joined()
    }

    private static func one(_ texts: [String], _ random: inout SeededRandom) -> String {
        texts[random.below(texts.count)]
    }

    static func file(_ random: inout SeededRandom) -> [UInt8] {
        let lines = (0..<random.below(12)).map { _ in Self.one(Self.starts, &random) + Self.text(&random) + "\n" }
        return Array(lines.joined().utf8)
    }

    static func rows(_ random: inout SeededRandom) -> [OutlineRow] {
        var depth = -1
        return (0..<random.below(12)).map { _ in
            depth = random.below(depth + 2)
            var row = OutlineRow(
                depth: depth,
                title: Self.text(&random),
                note: random.oneIn(2) ? Self.text(&random) : nil,
                done: random.oneIn(3)
            )
            let members = Self.members(isDone: row.done, &random)
            if !members.isEmpty { row.extra = JSONElement.object(members.sorted { $0.name < $1.name }).text }
            return row
        }
    }

    private static func members(isDone: Bool, _ random: inout SeededRandom) -> [JSONElement.Member] {
        let names = [
            "tags", "priority", "scheduled", "deadline", "closed", "type", "preamble", "due", "ID", "a b", "END", "a",
            "nest-extra", "é",
        ]
        var members: [JSONElement.Member] = []
        for name in names where random.oneIn(5) { members.append(JSONElement.Member(name, Self.value(name, &random))) }
        // A keyword of the other state is no longer true, so it is not written.
        if random.oneIn(3) {
            let words = isDone ? ["CUT", "2026-01-02", "DONE", "x(y)"] : ["TODO", "WAITING", "x y", "DONE"]
            members.append(JSONElement.Member(isDone ? "done" : "todo", .string(Self.one(words, &random))))
        }
        return members
    }

    private static func value(_ name: String, _ random: inout SeededRandom) -> JSONElement {
        switch name {
        case "tags":
            let names = Array(["a", "b2", "ö", "a1", "c_d", "e", "@x", "c.d", ""].prefix(random.oneIn(4) ? 9 : 6))
            return .array((0...random.below(3)).map { _ in .string(Self.one(names, &random)) })
        case "priority": return .string(Self.one(["A", "3", "12", "a", "", "AB"], &random))
        case "scheduled", "deadline", "closed":
            let stamps = ["<2026-01-02 Fri>", "[2026-01-02 Fri 10:00]", "<2026-01-02 +1w>--<2026-01-03 Sat>", "soon"]
            return .string(Self.one(stamps, &random))
        case "type": return .string(Self.one(["project", "note", "x"], &random))
        case "preamble":
            let texts = ["#+TITLE: t", "#+TODO: WAITING | CUT DONE\n\nmore", "* a", "", " \nx"]
            return .string(Self.one(texts, &random))
        default: return random.oneIn(4) ? .number("12") : .string(Self.text(&random))
        }
    }

    /// The row as TaskPaper holds it: an item that is not done has no value of its mark.
    static func withoutMarkValue(_ row: OutlineRow) -> OutlineRow {
        guard !row.done, let extra = row.extra, case .object(let members) = JSONElement(extra: extra),
            members.contains(where: { $0.name == "done" })
        else { return row }
        var row = row
        let left = members.filter { $0.name != "done" }
        row.extra = left.isEmpty ? nil : JSONElement.object(left).text
        return row
    }
}
