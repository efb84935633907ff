import NestModel

/// A naive store with undo, written from the contract: for every committed transaction the complete graphs before and
/// after it and its session, and the stacks of each session as plain arrays.
package struct UndoOracle {
    package private(set) var graph: NaiveGraph
    package private(set) var marks: PlacementMarks
    /// The transactions, ascending by revision without gaps.
    package private(set) var records: [UndoRecord] = []
    /// The stacks by session.
    package var stacks: [Int: NaiveUndoStacks] = [:]
    /// Whether the state is only probable until the store is read, because the contract leaves it open.
    package private(set) var isUncertain = false
    /// Whether the marks are only probable until the store is read.
    private var areMarksVague = false

    package init(graph: NaiveGraph, marks: PlacementMarks) {
        self.graph = graph
        self.marks = marks
    }

    package var head: Revision { self.records.last?.revision ?? Revision(0) }

    package func record(_ revision: Revision) -> UndoRecord? {
        revision.rawValue >= 1 && revision <= self.head ? self.records[Int(revision.rawValue) - 1] : nil
    }

    // MARK: Transactions

    /// Appends a write that changed something as the next revision.
    package mutating func append(
        _ graph: NaiveGraph,
        _ marks: PlacementMarks,
        session: UInt64,
        kind: HistoryEntry.Kind,
        name: String,
        isVague: Bool
    ) {
        var record = UndoRecord(
            revision: self.head.next,
            session: session,
            kind: kind,
            name: name,
            before: self.graph,
            after: graph,
            marksBefore: self.marks,
            marksAfter: marks
        )
        self.areMarksVague = self.areMarksVague || isVague
        record.isVague = self.areMarksVague
        self.records.append(record)
        self.graph = graph
        self.marks = marks
    }

    /// Sets the actual contents of the store. Since `base`, the order of lists and the marks may have been guesses.
    package mutating func see(_ graph: NaiveGraph, _ marks: PlacementMarks, since base: Revision) {
        for index in self.records.indices where self.records[index].revision > base {
            self.records[index].marksBefore.settle(by: marks)
            self.records[index].marksAfter.settle(by: marks)
        }
        if self.head > base {
            self.records[self.records.count - 1].after = graph
            self.records[self.records.count - 1].marksAfter = marks
        }
        self.graph = graph
        self.marks = marks
        self.isUncertain = false
        self.areMarksVague = false
    }

    /// Appends a transaction whose changes are unknown. The changes of the last one become known when the store is
    /// read.
    package mutating func appendUnknown(session: UInt64, kind: HistoryEntry.Kind, name: String) {
        if !self.records.isEmpty, self.isUncertain { self.records[self.records.count - 1].isUnknown = true }
        self.append(self.graph, self.marks, session: session, kind: kind, name: name, isVague: false)
        self.records[self.records.count - 1].isUnknown = self.isUncertain
        self.isUncertain = true
    }

    // MARK: Undo

    /// Returns the owner of an object at its last deletion.
    private func lastOwner(_ id: ObjectID, _ property: PropertyNumber) -> ObjectID? {
        let death = self.records.last { $0.before.lives(id) && !$0.after.lives(id) }
        return death?.before.related(id, property).first
    }

    /// Returns which sessions have changed the owner of an object since a transaction.
    private func changers(
        of id: ObjectID,
        _ property: PropertyNumber,
        since record: UndoRecord,
        _ session: UInt64?
    ) -> UndoPredictor.Changers {
        guard let session else { return .others }
        var changers = UndoPredictor.Changers.own
        for later in self.records where later.revision > record.revision && later.session != session {
            if later.isUnknown || later.before.lives(id) != later.after.lives(id) { return .unclear }
            if later.before.related(id, property) != later.after.related(id, property)
                || later.marksBefore.stamp(id, property) != later.marksAfter.stamp(id, property)
            {
                changers = .others
            }
        }
        return changers
    }

    /// Predicts the undo of transactions one by one, newest first. `session`: the session whose newest work it is;
    /// `nil` for a revert.
    package func predict(_ revisions: [Revision], _ options: UndoOptions, of session: UInt64?) -> EntryPrediction {
        var prediction = EntryPrediction(graph: self.graph, marks: self.marks)
        if self.areMarksVague { prediction.opening = "this batch may have placed objects at their old positions" }
        var left: Set<UndoSlot> = []
        var rehomed: Set<UndoSlot> = []
        for revision in revisions.reversed() {
            guard let record = self.record(revision) else {
                prediction.steps.append(.init(revision: revision, prediction: nil))
                continue
            }
            let step = UndoPredictor.predict(
                record,
                options,
                on: prediction.graph,
                prediction.marks,
                leaving: left,
                rehomed: rehomed,
                changers: { [self] in self.changers(of: $0, $1, since: record, session) },
                lastOwner: { [self] in self.lastOwner($0, $1) }
            )
            prediction.relax(step)
            left = step.left
            rehomed = step.rehomedSlots
            prediction.append(step, of: revision)
        }
        return prediction
    }
}

/// The prediction for the undo of an entry, transaction by transaction.
package struct EntryPrediction {
    package struct Step {
        package var revision: Revision
        /// The prediction, or `nil` if the transaction is unknown.
        package var prediction: UndoPrediction?
        /// Whether the step makes a revision; `nil` if it may or may not.
        package var isChange: Bool? = false
    }

    package private(set) var graph: NaiveGraph
    package private(set) var marks: PlacementMarks
    package fileprivate(set) var steps: [Step] = []
    fileprivate var opening: String?

    private let found: NaiveGraph

    fileprivate init(graph: NaiveGraph, marks: PlacementMarks) {
        self.found = graph
        self.graph = graph
        self.marks = marks
    }

    /// Makes conflicts optional if an older transaction changed the same slot: in total there may be no conflict.
    fileprivate mutating func relax(_ prediction: UndoPrediction) {
        for law in prediction.conflicts where !law.isRequired {
            for step in self.steps.indices {
                for index in (self.steps[step].prediction?.conflicts ?? []).indices {
                    let other = self.steps[step].prediction!.conflicts[index]
                    if law.objects == other.objects, law.properties == other.properties {
                        self.steps[step].prediction!.conflicts[index].isRequired = false
                    }
                }
            }
        }
    }

    fileprivate mutating func append(_ prediction: UndoPrediction, of revision: Revision) {
        var isChange: Bool? = false
        if !self.graph.isLike(prediction.graph) {
            isChange = true
        } else if self.marks != prediction.marks || !prediction.placed.isEmpty {
            isChange = nil
        }
        if prediction.isOpen { isChange = nil }
        self.steps.append(Step(revision: revision, prediction: prediction, isChange: isChange))
        self.graph = prediction.graph
        self.marks = prediction.marks
    }

    private var predictions: [UndoPrediction] { self.steps.compactMap(\.prediction) }

    package var openings: [String] {
        (self.opening.map { [$0] } ?? []) + self.predictions.flatMap(\.openings)
            + (self.predictions.count < self.steps.count ? ["an unknown transaction"] : [])
    }
    package var isOpen: Bool { !self.openings.isEmpty }

    /// The codes of the refused steps.
    package var refusals: Set<ErrorCode> { self.predictions.reduce(into: []) { $0.formUnion($1.refusals) } }
    package var possibleRefusals: Set<ErrorCode> {
        self.predictions.reduce(into: []) { $0.formUnion($1.possibleRefusals) }
    }

    /// The possible numbers of revisions. Small changes are undone in one revision.
    package var changeCounts: ClosedRange<Int> {
        let sure = self.steps.count { $0.isChange == true }
        // The changes of one step and the reverts of the next may cancel out.
        let isSure = self.steps.count == 1 ? sure == 1 : sure > 0 && !self.graph.isLike(self.found)
        return (isSure ? 1 : 0)...(sure + self.steps.count { $0.isChange == nil })
    }

    package var conflicts: [ConflictLaw] { self.predictions.flatMap(\.conflicts) }

    package func faults(of conflicts: UndoConflicts) -> [String] {
        guard !self.isOpen else { return [] }
        var all = UndoPrediction(graph: self.graph, marks: self.marks)
        all.conflicts = self.conflicts
        return all.faults(of: conflicts)
    }
}

extension NaiveGraph {
    /// Whether the graphs are equal except for the order of lists.
    package func isLike(_ other: NaiveGraph) -> Bool { self.unordered.objects == other.unordered.objects }

    package var unordered: NaiveGraph {
        var graph = self
        for (id, object) in self.objects {
            for (property, list) in object.related { graph.objects[id]!.related[property] = list.sorted() }
        }
        return graph
    }
}

extension PlacementMarks {
    /// Replaces the stamps of new placements by their actual stamps.
    fileprivate mutating func settle(by marks: PlacementMarks) {
        for (id, places) in self.places {
            for (property, stamp) in places where stamp == UndoPredictor.newStamp {
                self.places[id]![property] = marks.stamp(id, property) ?? stamp
            }
        }
    }
}
