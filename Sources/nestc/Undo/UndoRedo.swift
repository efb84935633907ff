import ArgumentParser
import NestClient
import NestModel

struct UndoLast: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Take back what this session did last, or any one transaction.",
        discussion: """
            Examples:
              nestc undo
              nestc undo --strict                 refuse when any of it was changed since
              nestc undo --force                  overwrite what was changed since
              nestc undo --rehome                 higher up, when its parent is gone
              nestc undo --revision 41            this one, however long ago
              nestc undo --revision 41 --anyone   whoever wrote it
              nestc undo --expect 41              only if it is that of 'nestc undo-state'

            What others, or later commands, have changed since stays as it is, and is listed on standard error. When all of it \
            was changed since, nothing is taken back and the exit code is 80; the next undo takes the one before. An insert \
            that others have edited or put something into is not deleted without --force, which lists what it overwrites and \
            deletes of others. 'nestc preview undo' shows what an undo would change; 'nestc redo' does it again.
            """
    )

    @Option(help: ArgumentHelp("This transaction instead of the newest entry, as a new entry.", valueName: "n"))
    var revision: RevisionArgument?

    @Flag(help: "With --revision: of any session.")
    var anyone = false

    @OptionGroup var conflicts: ConflictOptions
    @OptionGroup var expecting: ExpectedEntryOption
    @OptionGroup var writing: KeyOption
    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.anyone, self.revision == nil { throw ValidationError("--anyone needs --revision") }
        if self.expecting.expect != nil, self.revision != nil {
            throw ValidationError("--expect is for the newest entry, not for --revision")
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let key = try self.writing.identifier()
        let options = self.conflicts.options
        let receipt: Receipt
        if let revision = self.revision?.revision {
            receipt = try await client.revert(revision, ofAnyone: self.anyone, options: options, key: key)
        } else {
            receipt = try await client.undo(options: options, expecting: self.expecting.revision, key: key)
        }
        let report = UndoReport(receipt, "undid", blocked: self.blocked(receipt))
        try await report.print(self, client, &output)
    }

    private func blocked(_ receipt: Receipt) -> String {
        let name = escapingControls(receipt.name)
        guard self.revision == nil else {
            return "nothing was taken back: as things are now, the undo of '\(name)' changes nothing"
        }
        return
            "nothing was taken back: as things are now, the undo of '\(name)' changes nothing. It is passed over: the next 'nestc undo' takes the one before; 'nestc undo --revision N --force' takes it back all the same ('nestc history' has its revision N)"
    }
}

struct RedoLast: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "redo",
        abstract: "Do again what was undone last.",
        discussion: """
            Examples:
              nestc redo
              nestc redo --strict     refuse when any of it was changed since
              nestc redo --force      overwrite what was changed since

            As with undo, what was changed since stays as it is and is listed on standard error. An ordinary write of this \
            session ends what can be done again; what others write does not.
            """
    )

    @OptionGroup var conflicts: ConflictOptions
    @OptionGroup var expecting: ExpectedEntryOption
    @OptionGroup var writing: KeyOption
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let receipt = try await client.redo(
            options: self.conflicts.options,
            expecting: self.expecting.revision,
            key: try self.writing.identifier()
        )
        let blocked =
            "nothing was done again: as things are now, the redo of '\(escapingControls(receipt.name))' changes nothing. It is passed over: the next 'nestc redo' takes the one after"
        try await UndoReport(receipt, "redid", blocked: blocked).print(self, client, &output)
    }
}

/// What is done about what was changed since.
struct ConflictOptions: ParsableArguments {
    @Flag(help: "Overwrite what was changed since, and delete what was put inside.")
    var force = false

    @Flag(help: "Refuse all when anything was changed since.")
    var strict = false

    @Flag(help: "Bring back under the nearest living object above what was under one that is gone.")
    var rehome = false

    func validate() throws {
        if self.force, self.strict { throw ValidationError("say --force or --strict, not both") }
    }

    var options: UndoOptions {
        UndoOptions(policy: self.force ? .force : self.strict ? .strict : .keep, rehomes: self.rehome)
    }
}

struct ExpectedEntryOption: ParsableArguments {
    @Option(help: ArgumentHelp("Refuse when another entry is the newest by now.", valueName: "revision"))
    var expect: RevisionArgument?

    var revision: Revision? { self.expect?.revision }
}
