import NestClient
import NestDocuments
import NestModel

/// The events of `subscribe --json`: stable names, one event a line.
struct EventJSON {
    private let resolved: RequestOptions.Resolved
    private let names: SectionNames
    private let totals: TotalsText
    /// Whether diffs have authors.
    private let showsAuthors: Bool

    init(_ resolved: RequestOptions.Resolved, showsAuthors: Bool = false) {
        self.resolved = resolved
        self.showsAuthors = showsAuthors
        self.names = SectionNames(resolved)
        self.totals = TotalsText(resolved)
    }

    /// Prints every event until `goesOn` returns `false`.
    func print(
        _ results: ResultsSubscription,
        _ output: inout Output,
        goesOn: (FetchedResultsChange) async throws -> Bool = { _ in true }
    ) async throws {
        do {
            for try await change in results {
                try output.line(self.line(change, results))
                try output.flush()
                guard try await goesOn(change) else { return }
            }
        } catch let error as NestError where error.code != .closed {
            try output.line(Self.end(error))
            try output.flush()
            throw error
        }
    }

    func line(_ change: FetchedResultsChange, _ results: ResultsSubscription) -> JSONWriter {
        switch change {
        case .snapshot: self.snapshot(results.state, digest: results.digest)
        case .diff(let diff): self.diff(diff, results.state)
        case .progress(let revision): Self.event("progress") { $0.field("revision", revision) }
        case .position(let position):
            Self.event("position") { Self.write(position, &$0) }
        case .totals(let totals):
            Self.event("totals") {
                $0.field("revision", totals.revision)
                self.write(totals, &$0)
            }
        case .reset(let reset): Self.event("reset") { $0.field("reason", reset.message) }
        case .disconnected(let reason): Self.event("disconnected") { $0.field("reason", reason) }
        case .paused: Self.event("paused") { _ in }
        case .resumed(let revision): Self.event("resumed") { $0.field("revision", revision) }
        }
    }

    static func end(_ error: NestError) -> JSONWriter {
        self.event("end") { json in
            json.field("code", "\(error.code)")
            json.field("message", error.message)
        }
    }

    private static func event(_ name: String, _ body: (inout JSONWriter) -> Void) -> JSONWriter {
        .object { json in
            json.field("event", name)
            body(&json)
        }
    }

    private func printer(_ state: SectionedSnapshot) -> RowPrinter {
        RowPrinter(self.resolved, projection: state.projection)
    }

    private func snapshot(_ state: SectionedSnapshot, digest: UInt64) -> JSONWriter {
        let printer = self.printer(state)
        return Self.event("snapshot") { json in
            json.field("revision", state.revision)
            Self.write(Self.position(state), &json)
            if !self.totals.isEmpty {
                json.key("totals")
                self.totals.write(state.totals, into: &json)
            }
            json.key("sections")
            json.array(state.sections) { json, section in
                json.object { json in
                    json.key("name")
                    self.names.write(section.key, into: &json)
                    if !section.totals.isEmpty {
                        json.key("totals")
                        self.totals.write(section.totals, into: &json)
                    }
                    json.key("rows")
                    json.array(section.rows) { printer.write($1, into: &$0) }
                }
            }
            json.field("digest", ResultsDigest.text(digest))
        }
    }

    /// `state` is the state after the diff.
    private func diff(_ diff: ResultsDiff, _ state: SectionedSnapshot) -> JSONWriter {
        let printer = self.printer(state)
        return Self.event("diff") { json in
            json.field("from", diff.from)
            json.field("to", diff.to)
            Self.write(diff.window ?? Self.position(state), &json)
            json.key("deletedSections")
            json.array(diff.deletedSections) { $0.integer($1) }
            json.key("insertedSections")
            json.array(diff.insertedSections) { json, section in
                json.object { json in
                    json.field("at", section.index)
                    json.key("name")
                    self.names.write(section.key, into: &json)
                }
            }
            json.key("deletedRows")
            json.array(diff.deletedRows) { Self.path($1.path, &$0) }
            json.key("moves")
            json.array(diff.moves) { json, move in
                json.object { json in
                    json.key("from")
                    Self.path(move.from, &json)
                    json.key("to")
                    Self.path(move.to, &json)
                }
            }
            json.key("insertedRows")
            json.array(diff.insertedRows) { json, inserted in
                json.object { json in
                    json.key("at")
                    Self.path(inserted.path, &json)
                    json.key("row")
                    printer.write(inserted.row, into: &json)
                }
            }
            json.key("updates")
            json.array(diff.updates) { json, update in
                json.object { json in
                    json.key("at")
                    Self.path(update.path, &json)
                    json.field("id", state[update.path].id.rawValue)
                    json.key("values")
                    printer.writeChanged(update.values, into: &json)
                }
            }
            json.key("left")
            json.array(diff.deletedRows) { json, row in
                json.object { json in
                    json.field("id", row.id.rawValue)
                    json.field("reason", "\(row.reason)")
                }
            }
            json.field("digest", ResultsDigest.text(diff.digest))
            if let totals = diff.totals { self.write(totals, &json) }
            if diff.isOwn { json.field("own", true) }
            guard self.showsAuthors else { return }
            json.key("authors")
            json.array(diff.authors) { json, author in
                json.object { json in
                    json.field("revision", author.revision)
                    json.field("session", author.sessionNumber)
                    UserText.write(author.user, into: &json)
                }
            }
        }
    }

    private func write(_ totals: TotalsUpdate, _ json: inout JSONWriter) {
        json.key("totals")
        self.totals.write(totals.values, into: &json)
        json.key("sectionTotals")
        json.array(totals.sections) { json, section in
            json.object { json in
                json.field("at", section.index)
                json.key("totals")
                self.totals.write(section.values, into: &json)
            }
        }
    }

    /// Returns the position of the state's window. Without a window, the state is the whole result.
    private static func position(_ state: SectionedSnapshot) -> WindowPosition {
        state.window
            ?? WindowPosition(total: state.total, sectionTotal: state.sections.count, start: WindowStart())
    }

    private static func write(_ position: WindowPosition, _ json: inout JSONWriter) {
        json.field("total", position.total)
        json.field("first", position.start.row)
        json.field("sectionsTotal", position.sectionTotal)
        json.field("firstSection", position.start.section)
        json.field("firstInSection", position.start.rowInSection)
        if let anchor = position.anchor { json.field("anchor", anchor.rawValue) }
    }

    private static func path(_ path: RowPosition, _ json: inout JSONWriter) {
        json.array { json in
            json.integer(path.section)
            json.integer(path.row)
        }
    }
}
