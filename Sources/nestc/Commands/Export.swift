import ArgumentParser
import NestClient
import NestFormats
import NestModel

struct Export: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write an item and everything below it as an outline.",
        discussion: """
            Examples:
              nestc export > all.txt
              nestc export 2 -o notes.txt
              nestc export 2 --below | nestc import - --parent 9    copy what is below 2 to 9

            It is the state of one revision. Indented text holds titles and depths, no notes and no done marks.
            The root item, which has no title, is never written.
            """
    )

    @Argument(help: ArgumentHelp("The item at the top.", valueName: "id"))
    var top: IDArgument = .root

    @OptionGroup var formatting: FormatOption

    @Option(
        name: [.short, .customLong("output")],
        help: ArgumentHelp("The file; standard output without it.", valueName: "file")
    )
    var outputFile: String?

    @Flag(help: "Only what is below the item, without the item itself.")
    var below = false

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let outline = try await Outline(client)
        let file = try self.outputFile.map { try OutputFile($0) }
        let request = SubtreeRequest(root: self.top.id, relationship: outline.children, properties: [outline.title])
        let topDepth = self.below || outline.isRoot(self.top.id) ? 1 : 0
        var writer = self.formatting.format(of: self.outputFile).writer()
        var progress = Progress("wrote", isShown: !self.global.quiet && (file != nil || !output.isTerminal))
        var (rowCount, byteCount) = (0, 0)
        do {
            try await client.fetchSubtree(request) { subtree in
                for try await rows in subtree {
                    for row in rows where row.depth >= topDepth {
                        let title = row.values.first?.stringValue ?? ""
                        try writer.write(OutlineRow(depth: row.depth - topDepth, title: title))
                        rowCount += 1
                        if writer.byteCount >= Self.pieceBytes {
                            byteCount += try self.write(writer.take(), file, &output)
                        }
                    }
                    progress.update(items: rowCount, of: subtree.rowCount, bytes: byteCount)
                }
            }
            try writer.finish()
            byteCount += try self.write(writer.take(), file, &output)
            try output.flush()
            try file?.commit()
        } catch {
            progress.clear()
            throw error
        }
        progress.finish(items: rowCount, bytes: byteCount)
    }

    private static let pieceBytes = 256 << 10

    private func write(_ bytes: [UInt8], _ file: OutputFile?, _ output: inout Output) throws -> Int {
        if let file { try file.write(bytes) } else { try output.write(bytes) }
        return bytes.count
    }
}

/// A file that appears under its name only when it is complete.
final class OutputFile {
    private let path: String
    private let temporary: String
    private let file: Int32
    private var isCommitted = false

    init(_ path: String) throws {
        self.path = path
        self.temporary = "\(path).\(getpid()).part"
        self.file = open(self.temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard self.file >= 0 else { throw CommandFailure(.inputOutput, "cannot write '\(path)': \(errorText(errno))") }
    }

    deinit {
        close(self.file)
        if !self.isCommitted { unlink(self.temporary) }
    }

    func write(_ bytes: [UInt8]) throws {
        try writeAll(bytes, to: self.file)
    }

    func commit() throws {
        guard fsync(self.file) == 0 || errno == EINVAL, rename(self.temporary, self.path) == 0 else {
            throw CommandFailure(.inputOutput, "cannot write '\(self.path)': \(errorText(errno))")
        }
        self.isCommitted = true
    }
}
