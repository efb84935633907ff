import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Remove: WritingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Delete objects of any entity.",
        discussion: """
            Examples:
              nestc rm 7
              nestc rm 7 8 9                    in one transaction: all or none
              nestc rm 7 --expect-revision 12   only if unchanged since revision 12

            Delete rules apply: an item is deleted with everything below it. nestc prints how many objects were \
            deleted. 'nestc undo' restores them with the same ids. 'nestc delete' is the same command.
            """,
        aliases: ["delete"]
    )

    @Argument(help: ArgumentHelp("The objects to delete.", valueName: "id"))
    var ids: [IDArgument]

    @OptionGroup var checking: PreconditionOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let transaction = WriteTransaction(
            name: self.writing.name,
            key: try self.writing.identifier(),
            preconditions: self.checking.preconditions(self.ids.map(\.id)),
            mutations: self.ids.map { .delete(.object($0.id)) }
        )
        let receipt = try await client.transaction(transaction)
        guard receipt.isChanged else { return try report(receipt, self, &output) }
        let count = try await self.deletedCount(receipt, client)
        if self.global.json {
            try output.line(
                .object { json in
                    receipt.writeFields(into: &json)
                    json.key("deleted")
                    if let count { json.integer(count) } else { json.null() }
                }
            )
        } else {
            try output.line("deleted " + (count.map { counted($0, "object") } ?? "objects"))
        }
    }

    /// Returns the number of objects that the transaction deleted, from the journal; `nil` if the journal no longer has
    /// it, which is possible only for a repeated command with an old key.
    private func deletedCount(_ receipt: Receipt, _ client: NestClient) async throws -> Int? {
        guard let history = await client.server?.historyID else { return nil }
        let before = ResumePoint(historyID: history, revision: Revision(receipt.revision.rawValue - 1))
        do {
            return try await client.withChanges(since: before, entities: []) { changes in
                var count = 0
                for try await event in changes {
                    switch event {
                    case .following, .resumed: continue
                    case .progress: return count
                    case .disconnected: return nil
                    case .changes(let part):
                        guard part.revision == receipt.revision else { return count }
                        count += part.objects.count { $0.kind == .deleted }
                        if !part.hasMore { return count }
                    }
                }
                return nil
            }
        } catch is NestError {
            // The objects are deleted, whatever happens now.
            return nil
        }
    }
}
