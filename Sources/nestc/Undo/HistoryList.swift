import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct HistoryList: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List what was done, newest first.",
        discussion: """
            Examples:
              nestc history                 what this session did
              nestc history --all           what everybody did, by session numbers
              nestc history --limit 5 --json
              nestc history --before 41     what came before revision 41

            '<- undo' marks what the next undo takes back, '<- redo' what the next redo does again, '(blocked)' an entry whose \
            undo would have changed nothing. Transactions that are one undo entry are one line, where the newest of them is; \
            with --json each has a line of its own, and "entry" is the first of them.
            """
    )

    @Flag(help: "Of all sessions, not only this one.")
    var all = false

    @Option(help: ArgumentHelp("At most so many lines.", valueName: "n"))
    var limit = 20

    @Option(help: ArgumentHelp("Only what came before this revision.", valueName: "revision"))
    var before: RevisionArgument?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.limit < 1 { throw ValidationError("--limit is 1 or more") }
        if self.before?.revision == Revision(0) { throw ValidationError("--before is 1 or more") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        var fold = HistoryFold(limit: self.limit, isFolding: !self.global.json)
        var before = self.before?.revision
        while let page = fold.pageSize {
            let entries = try await client.history(before: before, limit: page, onlyMine: !self.all)
            // A page may be short and yet not the last.
            guard let last = entries.last else { break }
            for entry in entries { fold.add(entry) }
            before = last.revision
        }
        for line in fold.lines { try self.print(line, &output) }
    }

    private func print(_ line: HistoryFold.Line, _ output: inout Output) throws {
        let entry = line.entry
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("revision", entry.revision)
                    json.field("time", DateText.text(microseconds: entry.time))
                    json.field("session", entry.sessionNumber)
                    json.field("mine", entry.isMine)
                    json.field("kind", "\(entry.kind)")
                    json.key("reverted")
                    if let reverted = entry.reverted { json.integer(reverted.rawValue) } else { json.null() }
                    json.field("name", entry.name)
                    json.field("nextUndo", entry.isNextUndo)
                    json.field("nextRedo", entry.isNextRedo)
                    json.field("blocked", entry.isBlocked)
                    json.key("entry")
                    if let first = entry.entry { json.integer(first.rawValue) } else { json.null() }
                }
            )
            return
        }
        let kind = entry.kind == .write ? "" : "\(entry.kind) of \(entry.reverted ?? Revision(0)): "
        let several = line.count > 1 ? "  (\(line.count) transactions from \(entry.entry ?? entry.revision))" : ""
        let blocked = line.isBlocked ? "  (blocked)" : ""
        let mark = line.isNextUndo ? "  <- undo" : line.isNextRedo ? "  <- redo" : ""
        let whose = entry.isMine ? "mine" : "s\(entry.sessionNumber)"
        // To the second for people; whole for programs.
        let time = DateText.text(microseconds: entry.time)
        let shownTime = output.isTerminal ? "\(time.prefix(10)) \(time.dropFirst(11).prefix(8))" : time
        let head = output.dim("\(entry.revision)\t\(shownTime)\t\(whose)\t")
        let name = output.shown(singleLine(entry.name))
        try output.line("\(head)\(kind)\(name)\(output.dim(several + blocked))\(output.bold(mark))")
    }
}

/// Makes one line of the transactions that are one undo entry, where the newest of them is.
struct HistoryFold {
    struct Line {
        /// The newest.
        var entry: HistoryEntry
        /// How many there are.
        var count = 1
        var isNextUndo: Bool
        var isNextRedo: Bool
        var isBlocked: Bool
    }

    private let limit: Int
    private let isFolding: Bool
    private(set) var lines: [Line] = []
    /// Where the line of an entry is, by its first transaction.
    private var indexOfFirst: [Revision: Int] = [:]
    /// The oldest transaction that some line is still to count.
    private var oldestWanted: Revision?
    private var read: Revision?

    init(limit: Int, isFolding: Bool) {
        self.limit = limit
        self.isFolding = isFolding
    }

    /// How many transactions to ask for next; `nil` when all lines are complete.
    var pageSize: Int? {
        let missing = self.limit - self.lines.count
        if missing > 0 { return min(missing, Limits.historyPageMax) }
        guard let oldestWanted, let read, oldestWanted < read else { return nil }
        return Limits.historyPageMax
    }

    /// Takes the next transaction, from the newest to the oldest.
    mutating func add(_ entry: HistoryEntry) {
        self.read = entry.revision
        let first = entry.entry ?? entry.revision
        if self.isFolding, let index = self.indexOfFirst[first] {
            self.lines[index].count += 1
            self.lines[index].isNextUndo = self.lines[index].isNextUndo || entry.isNextUndo
            self.lines[index].isNextRedo = self.lines[index].isNextRedo || entry.isNextRedo
            self.lines[index].isBlocked = self.lines[index].isBlocked || entry.isBlocked
            return
        }
        guard self.lines.count < self.limit else { return }
        self.indexOfFirst[first] = self.lines.count
        self.lines.append(
            Line(
                entry: entry,
                isNextUndo: entry.isNextUndo,
                isNextRedo: entry.isNextRedo,
                isBlocked: entry.isBlocked
            )
        )
        if self.isFolding { self.oldestWanted = min(self.oldestWanted ?? first, first) }
    }
}
