import ArgumentParser
import NestClient
import NestFormats
import NestModel

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Store an outline from a file, as one transaction and one undo entry.",
        discussion: """
            Examples:
              nestc import notes.txt
              nestc import notes.txt --parent 2 --first
              find /usr | sed -e 's,[^/]*/,\\t,g' | nestc import -
              nestc import notes.txt --dry-run       how many items, how deep; the server is not asked

            Indented text: one item a line, its depth by tabs, spaces or both; blank lines are skipped. A line that
            begins with a backslash holds what a line cannot: '\\' an empty title, '\\n' a line feed, '\\ x' leading spaces.
            """
    )

    @Argument(help: ArgumentHelp("The file; '-' for standard input.", valueName: "file"))
    var file: String

    @OptionGroup var formatting: FormatOption

    @Option(help: ArgumentHelp("The item that everything goes under.", valueName: "id"))
    var parent: IDArgument = .root

    @OptionGroup var placing: PlaceOptions

    @Flag(help: "Only read the file and say what is in it.")
    var dryRun = false

    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        var source = try OutlineSource(self.file, self.formatting.format(of: self.file), self.global)
        var output = Output()
        if self.dryRun {
            while try source.next() != nil {}
            source.finish(warning: !self.global.quiet)
            try self.printSummary(source, &output)
        } else {
            let configuration = try self.global.configuration()
            let receipt = try await NestClient.withClient(configuration) { client in
                try await GroupVariable.join(client)
                return try await NamedRefusal.naming(client) { try await self.store(&source, client) }
            }
            source.finish(warning: !self.global.quiet)
            try self.print(receipt, &output)
        }
        try output.flush()
    }

    private func store(_ source: inout OutlineSource, _ client: NestClient) async throws -> Receipt {
        let outline = try await Outline(client)
        let placement = Placement(
            relationship: outline.parent,
            owner: .object(self.parent.id),
            place: self.placing.place
        )
        let request = SubtreeImport(
            key: try self.writing.identifier(),
            name: self.writing.name,
            entity: outline.entity.number,
            placement: placement,
            properties: [outline.title]
        )
        do {
            // An empty input is no import, and no fault: `nestc export 2 --below | nestc import -` of an empty list.
            var first: [OutlineRow]? = []
            while first?.isEmpty == true { first = try source.next() }
            guard first != nil else {
                return Receipt(revision: await client.server?.revision ?? Revision(0), isChanged: false)
            }
            return try await client.importSubtree(request) {
                try (first.take() ?? source.next())?.map {
                    SubtreeRow(depth: $0.depth, id: nil, values: [.string($0.title)])
                }
            }
        } catch {
            source.progress.clear()
            throw error
        }
    }

    private func printSummary(_ source: borrowing OutlineSource, _ output: inout Output) throws {
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("rows", source.rowCount)
                    json.field("depth", source.levelCount)
                }
            )
        } else {
            try output.line("\(counted(source.rowCount, "item")) in \(counted(source.levelCount, "level"))")
        }
    }

    private func print(_ receipt: Receipt, _ output: inout Output) throws {
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("revision", receipt.revision)
                    json.field("changed", receipt.isChanged)
                    json.field("replayed", receipt.isReplayed)
                    json.key("first")
                    if let first = receipt.firstInserted { json.integer(first.rawValue) } else { json.null() }
                    json.field("count", receipt.insertedCount)
                    json.field("name", receipt.name)
                }
            )
        } else if let first = receipt.firstInserted, receipt.insertedCount > 0 {
            let last = first.rawValue + Int64(receipt.insertedCount) - 1
            let ids = receipt.insertedCount == 1 ? "id \(first)" : "ids \(first) to \(last)"
            try output.line("imported \(counted(receipt.insertedCount, "item")), \(ids), revision \(receipt.revision)")
        } else {
            try output.line("imported nothing: no item in the input")
        }
    }
}

private func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

/// The rows of a file as they are read, counted.
struct OutlineSource: ~Copyable {
    private var file: InputFile
    private var reader: any OutlineReader
    private var isAtEnd = false
    private var byteCount = 0
    private(set) var rowCount = 0
    private(set) var levelCount = 0
    var progress: Progress

    init(_ path: String, _ format: OutlineFormat, _ global: GlobalOptions) throws {
        self.file = try InputFile(path)
        self.reader = format.reader()
        self.progress = Progress("read", isShown: !global.quiet)
    }

    /// The rows that the next piece of the file completes; `nil` at the end.
    mutating func next() throws -> [OutlineRow]? {
        guard !self.isAtEnd else { return nil }
        var rows: [OutlineRow] = []
        if let bytes = try self.file.next() {
            try self.reader.read(bytes, into: &rows)
            self.byteCount += bytes.count
        } else {
            self.isAtEnd = true
            try self.reader.finish(into: &rows)
        }
        self.rowCount += rows.count
        for row in rows { self.levelCount = max(self.levelCount, row.depth + 1) }
        self.progress.update(items: self.rowCount, bytes: self.byteCount)
        return rows
    }

    mutating func finish(warning: Bool) {
        self.progress.finish(items: self.rowCount, bytes: self.byteCount)
        if warning { for warning in self.reader.warnings { tell(warning) } }
    }
}
