import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct HistoryList: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List transactions, newest first.",
        discussion: """
            Examples:
              nestc history                 transactions of this session
              nestc history --all           transactions of all sessions
              nestc history --limit 5 --json
              nestc history --before 41     transactions before revision 41
              nestc history --all --object 7    those that changed object 7

            '<- undo' marks the entry that the next undo reverts, '<- redo' the entry that the next redo restores, and \
            '(blocked)' an entry that was skipped because its undo would change nothing. The transactions of one undo \
            entry are one line, in the position of the newest. With --json, each transaction is a line, and "entry" is \
            the revision of the entry's first transaction.

            With --object, each transaction is a line too. They are those that changed the object's values, its to-one \
            relationships or its position, not those that changed only its children.

            Behind the session, 'mine' or 's2', is its user, if it has one: 's2 Ann' is the label of Ann's token. '~' \
            marks a claim: a client without a token said so.
            """
    )

    @Flag(help: "List transactions of all sessions, not only this one.")
    var all = false

    @Option(help: ArgumentHelp("At most this many lines.", valueName: "n"))
    var limit = 20

    @Option(help: ArgumentHelp("Only transactions before this revision.", valueName: "revision"))
    var before: RevisionArgument?

    @Option(help: ArgumentHelp("Only transactions that changed this object.", valueName: "id"))
    var object: IDArgument?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.limit < 1 { throw ValidationError("--limit must be 1 or more") }
        if self.before?.revision == Revision(0) { throw ValidationError("--before must be 1 or more") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        var fold = HistoryFold(limit: self.limit, isFolding: !self.global.json && self.object == nil)
        var before = self.before?.revision
        while let page = fold.pageSize {
            let entries = try await client.history(
                before: before,
                limit: page,
                onlyMine: !self.all,
                object: self.object?.id
            )
            // A short page is not always the last one.
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
                    UserText.write(entry.user, into: &json)
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
        let several =
            line.count > 1 ? "  (\(counted(line.count, "transaction")) from \(entry.entry ?? entry.revision))" : ""
        let blocked = line.isBlocked ? "  (blocked)" : ""
        let mark = line.isNextUndo ? "  <- undo" : line.isNextRedo ? "  <- redo" : ""
        let whose = UserText.whose(isMine: entry.isMine, session: entry.sessionNumber, entry.user)
        let head = output.dim("\(entry.revision)\t\(ShownText.time(microseconds: entry.time))\t\(whose)\t")
        let name = output.shown(entry.name)
        try output.line("\(head)\(kind)\(name)\(output.dim(several + blocked))\(output.bold(mark))")
    }
}

/// Combines the transactions of one undo entry into one line, in the position of the newest.
struct HistoryFold {
    struct Line {
        /// The newest transaction.
        var entry: HistoryEntry
        /// The number of transactions.
        var count = 1
        var isNextUndo: Bool
        var isNextRedo: Bool
        var isBlocked: Bool
    }

    private let limit: Int
    private let isFolding: Bool
    private(set) var lines: [Line] = []
    /// The index of an entry's line, by the entry's first transaction.
    private var indexOfFirst: [Revision: Int] = [:]
    /// The oldest transaction that a line has still to count.
    private var oldestWanted: Revision?
    private var read: Revision?

    init(limit: Int, isFolding: Bool) {
        self.limit = limit
        self.isFolding = isFolding
    }

    /// The number of transactions to request next; `nil` when all lines are complete.
    var pageSize: Int? {
        let missing = self.limit - self.lines.count
        if missing > 0 { return min(missing, Limits.historyPageMax) }
        guard let oldestWanted, let read, oldestWanted < read else { return nil }
        return Limits.historyPageMax
    }

    /// Adds the next transaction. Transactions must be added from the newest to the oldest.
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
