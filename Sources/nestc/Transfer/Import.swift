import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Import an outline from a file or directory.",
        discussion: """
            Examples:
              nestc import notes.opml
              nestc import notes.md --parent 2 --first
              curl -s https://example.org/list.json | nestc import - --format json
              nestc import ~/Documents
              nestc import notes.csv --dry-run    report contents and losses only
              nestc import feeds.opml --lenient   repair a bare & and the like

            Formats:
              opml   OPML 2.0 of Workflowy, Dynalist, OmniOutliner and others. Attributes
                     other than text, _note and done marks are stored in 'extra', and
                     'nestc export --format opml' writes them again.
              md     Lists of Markdown: '[x]' is done, a heading contains what follows
                     it, text below an item is its note.
              org    Headlines of Org. Keywords that mean done are done marks, the text
                     below is the note. Tags, priorities, dates, properties and other
                     keywords are stored in 'extra'.
              taskpaper
                     Projects, '- tasks' and texts, with tabs as depth. '@done' is
                     done, other tags at the end of a line are stored in 'extra'.
              workflowy, dynalist
                     Their plain text: '- ' before each item, '[COMPLETE]' or '[x]' is
                     done, a text below an item is its note. Use --format.
              text   One item a line, its depth by tabs, spaces or both; blank lines
                     are skipped. A line that begins with a backslash holds what other
                     lines cannot: '\\' an empty title, '\\n' a line feed, '\\ x' spaces.
              json   [{"title":"a","note":"n","done":true,"extra":{},
                       "children":[…]},…]; other members are stored in 'extra'.
              jsonl  One object a line, with "depth", or with "id" and "parent".
              csv    The first line has the names of the columns: title, note, done,
                     extra, and level, or id and parent. Others are stored in 'extra'.
              tsv    The same with tabs.
              dir    A directory and everything below it: names, with kind, size, time
                     and link target in 'extra'. Links are not followed.

            Many programs write OPML that is not valid XML. --lenient repairs a bare & or <, a missing ;, HTML's \
            references such as &nbsp;, and white space before the XML declaration. nestc counts and reports what it \
            repaired; --json has the counts in "repairs".

            An import is one transaction and one undo entry: all of it is stored, or nothing. nestc counts and reports \
            what an item cannot hold. It sends a file while it reads it, so a file can have any size. Only items that \
            name their parents wait for the end of the file, up to 1,000,000 of them.

            With --entity, nestc imports objects of another entity that has a relationship to itself, such as Folder \
            with name (a string) and size (a decimal). All attributes are read by name. A missing value gets its \
            default; an invalid value is an error with its source location.

              nestc import folders.csv --entity Folder --parent 1
              nestc import notes.opml --entity Folder --parent 1 --note-attribute remark
              nestc import list.txt --entity Folder --parent 1 --set created=now

            --set gives an attribute to each object for which the file has no value; a value in the file wins. The \
            values are as in 'nestc insert': name=value, or name:=null.
            """
    )

    @Argument(
        help: ArgumentHelp("The file or directory; '-' for standard input.", valueName: "file"),
        completion: .file()
    )
    var file: String

    @OptionGroup var formatting: ImportFormatOption

    @Option(help: ArgumentHelp("The parent of the imported items. (default: the root)", valueName: "id"))
    var parent: IDArgument?

    @OptionGroup var placing: PlaceOptions

    @Flag(help: "Only read the file, and report its contents.")
    var dryRun = false

    @Flag(help: "With --entity: skip and count values without an attribute.")
    var skipUnknown = false

    @Option(
        name: .customLong("set"),
        help: ArgumentHelp(
            "The value of an attribute for objects for which the file has none. Repeatable.",
            valueName: "name=value"
        )
    )
    var assignments: [String] = []

    @OptionGroup var entity: OutlineEntityOptions
    @OptionGroup var attributes: OutlineAttributeOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        var source = try OutlineSource(self.file, self.formatting, self.global)
        var output = Output()
        do {
            if self.dryRun {
                let losses = try await self.check(&source)
                source.finish()
                try self.printSummary(source, losses, &output)
            } else {
                try await self.store(&source, &output)
            }
        } catch {
            source.progress.clear()
            if source.isGuessed { self.global.note(Self.guess(source.formatName)) }
            throw self.hinting(error)
        }
        try output.flush()
    }

    /// Names --lenient in an error that it prevents.
    private func hinting(_ error: any Error) -> any Error {
        guard var fault = error as? FormatError, fault.isRepairable, !self.formatting.lenient else { return error }
        fault.message += " (--lenient repairs such faults)"
        return fault
    }

    /// Reads the whole input. For another entity than Item, and with values of --set, also checks the values, with the
    /// server's model.
    private func check(_ source: inout OutlineSource) async throws -> [String] {
        guard self.entity.entity != nil || !self.assignments.isEmpty else {
            while try source.next() != nil {}
            return []
        }
        let outline = try await NestClient.withClient(try self.global.configuration()) { client in
            try await OutlineEntity(client, self.entity)
        }
        try outline.requireOrder()
        var mapping = try self.mapping(outline, &source)
        while let rows = try source.next() {
            for row in rows { _ = try mapping.values(of: row) }
        }
        return mapping.losses
    }

    private func mapping(_ outline: OutlineEntity, _ source: inout OutlineSource) throws -> OutlineMapping {
        var mapping = try OutlineMapping(outline, self.attributes)
        try mapping.assign(self.assignments)
        mapping.isStrict = self.entity.entity != nil && source.namesValues && !self.skipUnknown
        source.use(mapping.fields)
        return mapping
    }

    private func store(_ source: inout OutlineSource, _ output: inout Output) async throws {
        let configuration = try self.global.configuration()
        let (receipt, losses) = try await NestClient.withClient(configuration) { client in
            try await GroupVariable.join(client)
            return try await NamedRefusal.naming(client) { try await self.send(&source, client) }
        }
        source.finish()
        let warnings = (source.isGuessed ? [Self.guess(source.formatName)] : []) + source.warnings + losses
        if !self.global.quiet, !self.global.json { for warning in warnings { printMessage(warning) } }
        try receipt.print(
            "imported",
            nothing: "the input has no items",
            warnings: warnings,
            repairs: source.repairs,
            inJSON: self.global.json,
            &output
        )
    }

    private static func guess(_ format: String) -> String { "read as \(format); specify another format with --format" }

    private func send(_ source: inout OutlineSource, _ client: NestClient) async throws -> (Receipt, [String]) {
        let outline = try await OutlineEntity(client, self.entity)
        try outline.requireOrder()
        var mapping = try self.mapping(outline, &source)
        let parent = try outline.top(self.parent, "specify the parent with --parent")
        let placement = Placement(
            relationship: outline.parent,
            owner: .object(parent),
            place: self.placing.place
        )
        let request = SubtreeImport(
            key: try self.writing.identifier(),
            name: self.writing.name,
            entity: outline.entity.number,
            placement: placement,
            properties: mapping.properties
        )
        // An empty input is not an error: `nestc export 2 --below | nestc import -` of an empty list.
        var first: [OutlineRow]? = []
        while first?.isEmpty == true { first = try source.next() }
        guard first != nil else {
            return (Receipt(revision: await client.server?.revision ?? Revision(0), isChanged: false), [])
        }
        let receipt = try await client.importSubtree(request) {
            try (first.take() ?? source.next())?.map {
                SubtreeRow(depth: $0.depth, id: nil, values: try mapping.values(of: $0))
            }
        }
        return (receipt, mapping.losses)
    }

    private func printSummary(
        _ source: borrowing OutlineSource,
        _ losses: [String],
        _ output: inout Output
    ) throws {
        let warnings = source.warnings + losses
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("format", source.formatName)
                    json.field("rows", source.rowCount)
                    json.field("depth", source.levelCount)
                    json.field("done", source.doneCount)
                    json.field("notes", source.noteCount)
                    json.key("warnings")
                    json.array(warnings) { $0.string($1) }
                    json.field(source.repairs)
                }
            )
            return
        }
        let items = "\(counted(source.rowCount, "item")) in \(counted(source.levelCount, "level"))"
        let marks = [(source.doneCount, "done"), (source.noteCount, "with a note")].filter { $0.0 > 0 }
        let details = marks.map { "\($0.0) \($0.1)" } + (source.isGuessed ? ["read as \(source.formatName)"] : [])
        try output.line(([items] + details).joined(separator: ", "))
        for warning in warnings { try output.line(EscapedText.message(warning)) }
    }
}
