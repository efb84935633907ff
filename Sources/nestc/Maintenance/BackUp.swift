import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct BackUp: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the server's whole store to a local file.",
        discussion: """
            Examples:
              nestc backup nest-$(date +%F).sqlite
              nestc --server db.example:7000 backup /backup/shop.sqlite

            The copy is the state of one revision, and includes the undo journal. The server continues to serve during \
            the copy. The file appears under its name only when it is complete, verified by size and checksum, and on \
            the disk; then it replaces an existing file. It contains session ids, which are secrets: only you can read \
            it.

            To restore a copy: stop nestd, move the old store and its -wal file away, put the copy in the store's \
            place, and start nestd. The store begins a new history, and clients load all data again.

            The server needs free space for two copies on the disk of its store.
            """
    )

    @Argument(help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file())
    var file: String

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let file = try OutputFile(self.file, mode: 0o600)
        var progress = Progress("received", isShown: !self.global.quiet)
        let backup: Backup
        do {
            backup = try await client.backup { backup in
                var received = 0
                for try await bytes in backup {
                    try file.write(bytes)
                    received += bytes.count
                    progress.update(bytes: received, of: backup.byteCount)
                }
                return backup
            }
            try file.commit()
        } catch {
            progress.clear()
            throw error
        }
        progress.clear()
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("file", self.file)
                    json.field("revision", backup.revision.rawValue)
                    json.field("history", "\(backup.historyID)")
                    json.field("bytes", backup.byteCount)
                }
            )
        } else {
            self.note("wrote \(self.file): revision \(backup.revision), \(counted(backup.byteCount, "byte"))")
        }
    }
}
