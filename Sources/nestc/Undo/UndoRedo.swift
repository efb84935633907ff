import ArgumentParser
import NestClient
import NestModel

struct UndoLast: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Undo the newest entry of this session.",
        discussion: """
            Examples:
              nestc undo
              nestc undo --strict                 refuse if any of it has changed since
              nestc undo --force                  overwrite what has changed since
              nestc undo --rehome                 restore higher up if the parent is gone
              nestc undo --revision 41            any transaction of this session
              nestc undo --revision 41 --anyone   any transaction of any session
              nestc undo --expect 41              only the entry of 'nestc undo-state'

            Undo keeps what others, or later commands, have changed since, and lists it on standard error. If \
            everything has changed since, undo changes nothing and exits with 80; the next undo takes the entry before \
            it. Undo does not delete an inserted object that others have edited or put objects into. With --force, it \
            does, and lists what it overwrites and deletes.

            'nestc preview undo' shows what an undo would change. 'nestc redo' reverts an undo.
            """
    )

    @Option(help: ArgumentHelp("Undo this transaction instead of the newest entry.", valueName: "n"))
    var revision: RevisionArgument?

    @Flag(help: "With --revision: also of another session.")
    var anyone = false

    @OptionGroup var conflicts: ConflictOptions
    @OptionGroup var expecting: ExpectedEntryOption
    @OptionGroup var writing: KeyOption
    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.anyone, self.revision == nil { throw ValidationError("--anyone needs --revision") }
        if self.expecting.expect != nil, self.revision != nil {
            throw ValidationError("--expect cannot be combined with --revision")
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let key = try self.writing.identifier()
        let options = self.conflicts.options
        let target = self.revision.map { UndoTarget.revert($0.revision, ofAnyone: self.anyone) } ?? .undo
        let receipt = try await target.explainingConflicts {
            if let revision = self.revision?.revision {
                try await client.revert(revision, ofAnyone: self.anyone, options: options, key: key)
            } else {
                try await client.undo(options: options, expecting: self.expecting.revision, key: key)
            }
        }
        let report = UndoReport(receipt, "undid", blocked: self.blocked(receipt))
        try await report.print(self, client, &output)
    }

    private func blocked(_ receipt: Receipt) -> String {
        let name = escapingControls(receipt.name)
        let fact = "nothing was undone: the undo of '\(name)' would change nothing now"
        guard self.revision == nil else { return fact }
        return
            "\(fact). Undo skips it: the next 'nestc undo' takes the entry before it. To undo it nevertheless, "
            + "use 'nestc undo --revision N --force' ('nestc history' shows its revision N)"
    }
}

struct RedoLast: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "redo",
        abstract: "Redo what was undone last.",
        discussion: """
            Examples:
              nestc redo
              nestc redo --strict     refuse if any of it has changed since
              nestc redo --force      overwrite what has changed since

            Like undo, redo keeps what has changed since, and lists it on standard error. An ordinary write of this \
            session clears the redo stack; writes of other sessions do not.
            """
    )

    @OptionGroup var conflicts: ConflictOptions
    @OptionGroup var expecting: ExpectedEntryOption
    @OptionGroup var writing: KeyOption
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let key = try self.writing.identifier()
        let receipt = try await UndoTarget.redo.explainingConflicts {
            try await client.redo(options: self.conflicts.options, expecting: self.expecting.revision, key: key)
        }
        let name = escapingControls(receipt.name)
        let blocked =
            "nothing was redone: the redo of '\(name)' would change nothing now. Redo skips it: the next 'nestc redo' "
            + "takes the entry after it"
        try await UndoReport(receipt, "redid", blocked: blocked).print(self, client, &output)
    }
}

extension UndoTarget {
    /// The words of `nestc preview` that preview this undo or redo.
    private var words: String {
        switch self {
        case .undo: "undo"
        case .redo: "redo"
        case .revert(let revision, let ofAnyone): "--revision \(revision)" + (ofAnyone ? " --anyone" : "")
        }
    }

    /// Runs `body`. Adds the command that shows more to a refusal because of later changes.
    func explainingConflicts<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as NestError where error.code == .undoConflict {
            throw NamedRefusal(
                error,
                nil,
                hint: "\nIt has changed since. 'nestc history --all' shows which sessions changed it, "
                    + "'nestc preview \(self.words) --force' what --force would change."
            )
        }
    }
}

/// The options for objects that have changed since.
struct ConflictOptions: ParsableArguments {
    @Flag(help: "Overwrite what has changed since, and delete objects put inside.")
    var force = false

    @Flag(help: "Refuse if anything has changed since.")
    var strict = false

    @Flag(help: "If the parent is deleted, restore under the nearest ancestor that exists.")
    var rehome = false

    func validate() throws {
        if self.force, self.strict { throw ValidationError("use --force or --strict, not both") }
    }

    var options: UndoOptions {
        UndoOptions(policy: self.force ? .force : self.strict ? .strict : .keep, rehomes: self.rehome)
    }
}

struct ExpectedEntryOption: ParsableArguments {
    @Option(help: ArgumentHelp("Refuse if this is not the newest entry.", valueName: "revision"))
    var expect: RevisionArgument?

    var revision: Revision? { self.expect?.revision }
}
