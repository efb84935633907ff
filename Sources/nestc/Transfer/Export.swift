import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Export: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write an item and everything below it as an outline.",
        discussion: """
            Examples:
              nestc export > all.txt
              nestc export 2 -o notes.opml
              nestc export 2 --format md --tasks
              nestc export --format jsonl | jq -r .title

            The output is the state of one revision. nestc leaves out what a format cannot hold, and counts it on \
            standard error:
              opml, json, jsonl, csv, tsv   all attributes, by name
              org, taskpaper                the same, at most 10,000 levels
              md, workflowy, dynalist       titles, notes and done marks, at most
                                            10,000 levels
              text                          titles
            'nestc help import' describes the formats. 'nestc cp' copies without a file.

            To export another entity that has a relationship to itself:
              nestc export 2 --entity Folder --format csv

            With --json, the format is jsonl by default, and nestc describes the output in a line of JSON: on standard \
            output with --output, otherwise on standard error. The root item has no title and is never written; an \
            OPML document of the root has the title "nest".
            """
    )

    @Argument(help: ArgumentHelp("The item at the top. (default: the root)", valueName: "id"))
    var top: IDArgument?

    @OptionGroup var formatting: ExportFormatOption

    @Option(
        name: [.short, .customLong("output")],
        help: ArgumentHelp("The file to write. (default: standard output)", valueName: "file"),
        completion: .file()
    )
    var outputFile: String?

    @Flag(help: "Only the items below the item, not the item itself.")
    var below = false

    @OptionGroup var entity: OutlineEntityOptions
    @OptionGroup var attributes: OutlineAttributeOptions
    @OptionGroup var freshness: NewestOption
    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard self.global.json, self.outputFile == nil, let format = self.formatting.format else { return }
        guard format == .json || format == .jsonl else {
            throw ValidationError(
                "--json and --format \(format.rawValue) need --output: standard output would not be JSON"
            )
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let outline = try await OutlineEntity(client, self.entity)
        let mapping = try OutlineMapping(outline, self.attributes)
        let top = try outline.top(self.top, "specify the object at the top")
        let format = try self.formatting.format(of: self.outputFile, inJSON: self.global.json)
        let file = try self.outputFile.map { try OutputFile($0) }
        let request = SubtreeRequest(
            root: top,
            relationship: outline.children.number,
            properties: mapping.properties
        )
        let topDepth = self.below || outline.isRoot(top) ? 1 : 0
        var sink = OutlineSink(
            format,
            WritingOptions(hasOpenBoxes: self.formatting.tasks, fields: mapping.fields),
            file: file,
            progress: Progress("wrote", isShown: !self.global.quiet && (file != nil || !output.isTerminal))
        )
        do {
            let revision = try await client.fetchSubtree(request, atLeast: self.freshness.atLeast) { subtree in
                for try await rows in subtree {
                    for row in rows { try sink.take(mapping.row(row, depth: row.depth - topDepth), &output) }
                    sink.showProgress(of: subtree.rowCount - topDepth)
                }
                return subtree.revision
            }
            try sink.finish(&output)
            try file?.commit()
            let summary = sink.summary(revision, mapping.unwritten)
            if file != nil, self.global.json { try output.line(summary) }
            try output.flush()
            // Standard output has the outline.
            if file == nil, self.global.json, !self.global.quiet {
                try? writeAll(summary.bytes + [UInt8(ascii: "\n")], to: STDERR_FILENO)
            }
        } catch {
            sink.progress.clear()
            throw error
        }
        for warning in mapping.unwritten + sink.warnings where !self.global.json { self.note(warning) }
    }
}
