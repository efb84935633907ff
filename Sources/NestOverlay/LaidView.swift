import NestModel

/// One view while transactions are laid over it: decides which objects are rows, and places them.
struct LaidView {
    private enum Verdict {
        case isIn
        case isOut
        case unknown
    }

    private struct Arrival {
        var row: Row
        var section: AttributeValue
        var key: RowKey
    }

    private let index: Int
    private let shape: ViewShape
    private let paths: KnownPaths
    private let base: SectionedSnapshot
    private let changed: Set<ObjectID>
    private let values: RowValues
    private var result: OverlaidView
    /// A row that stays at its place. `base` is the server's row: by its values the rows are in order.
    private struct Staying {
        var row: Row
        var section: AttributeValue
        var base: Row
    }

    /// The rows that stay, in the server's order, and those that come or move.
    private var rows: [Staying] = []
    private var arrivals: [Arrival] = []
    /// The changes of the number of rows: in all, and before the window.
    private var totalChange = 0
    private var countBefore = 0

    private var known: KnownObjects { self.paths.known }
    private var model: ManagedObjectModel { self.known.model }

    init(_ index: Int, _ shape: ViewShape, _ paths: KnownPaths) {
        self.index = index
        self.shape = shape
        self.paths = paths
        let known = paths.known
        self.base = known.shown.views[index].state
        var changed = Set(known.changes.keys)
        if let source = shape.request.source, let relationship = shape.relationship {
            changed.formUnion(known.pairs[source, default: [:]].keys)
            if known.exact.contains(source) || known.isGone(source.object) {
                changed.formUnion(self.base.sections.flatMap { $0.rows.map(\.id) })
            }
            changed.formUnion(known.exact.filter { $0.relationship == relationship.inverse }.map(\.object))
        }
        self.changed = changed
        self.values = RowValues(shape, self.base.projection, paths)
        self.result = OverlaidView(state: self.base, pending: [], undecided: [], doubts: 0)
    }

    mutating func finish() -> OverlaidView {
        self.result.doubts = self.known.opaqueSteps + self.shapeDoubts
        self.decideRows()
        self.decideOthers()
        self.place()
        return self.result
    }

    /// The reasons for which any row may differ.
    private var shapeDoubts: Int {
        var doubts = self.shape.doubts(self.paths)
        if case .terms(let terms) = self.shape.order {
            doubts += terms.count { !$0.path.isOwn && self.paths.isAffected($0.path, from: self.shape.entity) }
        }
        return doubts
    }

    // MARK: Which objects are rows

    private mutating func decideRows() {
        for section in self.base.sections {
            for row in section.rows {
                guard self.changed.contains(row.id) || self.values.mayChangeOthers else {
                    self.rows.append(Staying(row: row, section: section.key, base: row))
                    continue
                }
                switch self.changed.contains(row.id) ? self.verdict(row.id, wasIn: true) : .isIn {
                case .isOut: self.totalChange -= 1
                case .unknown:
                    self.result.undecided.insert(row.id)
                    self.keep(row, section.key, isPlaced: false)
                case .isIn: self.keep(row, section.key, isPlaced: true)
                }
            }
        }
    }

    /// Keeps a row of the server's state, with what is known of its values and place.
    private mutating func keep(_ row: Row, _ section: AttributeValue, isPlaced: Bool) {
        if self.changed.contains(row.id) { self.result.pending.insert(row.id) }
        let new = self.overlaid(row)
        guard isPlaced, case .terms(let terms) = self.shape.order,
            terms.contains(where: { self.paths.isAffected($0.path, of: row.id) })
        else {
            self.rows.append(Staying(row: new, section: section, base: row))
            return
        }
        // Without all terms it stays where it was.
        if self.sortKeyChanges(row, terms) == false {
            self.rows.append(Staying(row: new, section: section, base: row))
        } else if let key = self.key(of: row.id, terms), let name = self.section(of: key, terms) {
            self.arrivals.append(Arrival(row: new, section: name, key: key))
        } else {
            self.result.undecided.insert(row.id)
            self.rows.append(Staying(row: new, section: section, base: row))
        }
    }

    /// Whether the terms of a row have other values than before; `nil` if that is not known.
    private func sortKeyChanges(_ row: Row, _ terms: [RowTerm]) -> Bool? {
        for term in terms {
            guard let property = term.path.ownProperty, let slot = self.shape.slots[property],
                let value = self.known.value(property, of: row.id)
            else {
                if self.paths.isAffected(term.path, of: row.id) { return nil }
                continue
            }
            if term.compare(value, row.values[slot]) != 0 { return true }
        }
        return false
    }

    /// Decides the objects that are not rows of the server's state.
    private mutating func decideOthers() {
        for id in self.changed.sorted() where !self.known.shown.contains(id, in: self.index) {
            var verdict = self.verdict(id, wasIn: false)
            let remembered = self.known.shown.views[self.index].remembered[id]
            if verdict == .unknown, let remembered {
                verdict = self.verdict(id, wasIn: false, remembered)
                self.result.undecided.insert(id)
            }
            switch verdict {
            case .isOut: break
            case .unknown: self.result.undecided.insert(id)
            case .isIn: self.arrive(id, remembered)
            }
        }
    }

    private mutating func arrive(_ id: ObjectID, _ remembered: RememberedRow?) {
        self.result.pending.insert(id)
        var found = self.values.newRow(id)
        if found == nil, let remembered {
            found = self.values.newRow(id, remembered)
            self.result.undecided.insert(id)
        }
        guard let row = found else {
            self.result.undecided.insert(id)
            return
        }
        switch self.shape.order {
        case .list, .ids:
            if remembered?.place != nil { self.result.undecided.insert(id) }
            self.arrivals.append(Arrival(row: row, section: self.onlySection, key: RowKey(values: [], id: id)))
        case .terms(let terms):
            guard let key = self.key(of: id, terms), let section = self.section(of: key, terms),
                self.rowsHaveKeys(terms)
            else {
                self.result.undecided.insert(id)
                if let place = remembered?.place, !terms.contains(where: { self.paths.isAffected($0.path, of: id) }) {
                    self.putBack(row, place)
                }
                return
            }
            self.arrivals.append(Arrival(row: row, section: section, key: key))
        }
    }

    /// Puts a row, of which not all terms are known, beside those that it was beside.
    private mutating func putBack(_ row: Row, _ place: RememberedRow.Place) {
        guard let section = place.section else { return }
        let index =
            self.rows.firstIndex { $0.row.id == place.left }.map { $0 + 1 }
            ?? self.rows.firstIndex { $0.row.id == place.right } ?? (self.rows.isEmpty ? 0 : nil)
        guard let index else { return }
        if self.wasOutside(row.id) { self.totalChange += 1 }
        self.rows.insert(Staying(row: row, section: section, base: row), at: index)
    }

    /// Returns what to remember of objects that are no rows any more, after `finish`: of those that the transactions
    /// took out.
    mutating func remembered(_ ids: Set<ObjectID>) -> [ObjectID: RememberedRow] {
        let laid = self.finish()
        let shown = Set(laid.state.sections.flatMap { $0.rows.map(\.id) })
        var all: [ObjectID: RememberedRow] = [:]
        for id in ids where !shown.contains(id) {
            let before = self.known.shown.views[self.index].remembered[id]
            guard before != nil || !laid.undecided.contains(id) else { continue }
            let place = self.oldPlace(of: id) ?? before?.place
            all[id] = self.known.remembered(id, root: id, in: self.index, self.paths, place: place, node: nil)
        }
        return all
    }

    /// Returns the place of a row that the transactions did not move.
    private func oldPlace(of id: ObjectID) -> RememberedRow.Place? {
        switch self.shape.order {
        case .ids: return nil
        case .list(let source): return self.known.place(of: id, in: ListID(view: self.index, owner: source.object))
        case .terms(let terms):
            if terms.contains(where: { self.paths.isAffected($0.path, of: id) }) { return nil }
            for section in self.base.sections {
                guard let index = section.rows.firstIndex(where: { $0.id == id }) else { continue }
                let right = index + 1 < section.rows.count ? section.rows[index + 1].id : nil
                let left = index > 0 ? section.rows[index - 1].id : nil
                return RememberedRow.Place(left: left, right: right, owner: nil, section: section.key)
            }
            return nil
        }
    }

    /// `remembered`: what decides if the verdict is not known otherwise.
    private func verdict(_ id: ObjectID, wasIn: Bool, _ remembered: RememberedRow? = nil) -> Verdict {
        if self.known.isGone(id) { return .isOut }
        var isIn: Bool? = true
        func and(_ condition: Bool?) {
            isIn = isIn == false || condition == false ? false : isIn == nil || condition == nil ? nil : true
        }
        if !wasIn {
            and(self.known.entity(of: id).map { self.model.isKind($0.number, of: self.shape.entity.number) })
        }
        if let source = self.shape.request.source {
            let isMember = self.shape.relationship.flatMap { self.known.isMember(id, of: source, $0) }
            let isUntouched = wasIn && self.shape.toOne.map { self.known.changes[id]?.values[$0] == nil } ?? false
            and(isUntouched ? true : isMember ?? remembered?.isMember)
        }
        and(self.shape.predicate.isTrue(of: id, self.paths, wasTrue: wasIn, remembered?.truths ?? []))
        if self.known.changes[id]?.mayBeGone == true, isIn == true { isIn = nil }
        return isIn.map { $0 ? .isIn : .isOut } ?? .unknown
    }

    // MARK: Values

    /// Returns a row with the values that the transactions gave it.
    private mutating func overlaid(_ row: Row) -> Row {
        let (row, isKnown) = self.values.overlaid(row)
        if !isKnown { self.result.undecided.insert(row.id) }
        return row
    }

    // MARK: Order

    private var onlySection: AttributeValue { self.base.sections.first?.key ?? .string("") }

    private func key(of id: ObjectID, _ terms: [RowTerm]) -> RowKey? {
        var values: [AttributeValue] = []
        for term in terms {
            guard let value = self.paths.value(term.path, of: id) else { return nil }
            values.append(value)
        }
        return RowKey(values: values, id: id)
    }

    /// Whether the keys of the server's rows are known, so that others can be placed among them.
    private func rowsHaveKeys(_ terms: [RowTerm]) -> Bool {
        terms.allSatisfy { term in
            term.path.ownProperty.map { self.shape.slots[$0] != nil } ?? self.column(term.path).map { _ in true }
                ?? false
        }
    }

    /// Returns the slot of a column with this path.
    private func column(_ path: PropertyPath) -> Int? {
        self.shape.request.columns.firstIndex(of: path).flatMap { self.shape.slots[.computed($0)] }
    }

    private func key(of row: Row, _ terms: [RowTerm]) -> RowKey {
        RowKey(
            values: terms.map { term in
                let slot = term.path.ownProperty.flatMap { self.shape.slots[$0] } ?? self.column(term.path)
                return slot.map { row.values[$0] } ?? .null
            },
            id: row.id
        )
    }

    private func section(of key: RowKey, _ terms: [RowTerm]) -> AttributeValue? {
        guard let section = self.shape.request.section else { return self.onlySection }
        guard let term = terms.first else { return nil }
        return term.section(section.function, of: key.values[0])
    }

    private mutating func place() {
        let rows: [(row: Row, section: AttributeValue)]
        switch self.shape.order {
        case .list: rows = self.listed(self.rows.map { ($0.row, $0.section) })
        case .ids: rows = self.merged { $0.id < $1.id }
        case .terms(let terms):
            let isKnown = self.rowsHaveKeys(terms)
            if !isKnown, !self.arrivals.isEmpty {
                // Rows that should move stay: the others' keys are not known.
                rows = self.inOldOrder(self.rows.map { ($0.row, $0.section) })
            } else {
                rows = self.merged { RowKey.isBefore($0, $1, terms) }
            }
        }
        self.publish(rows)
    }

    /// Merges the arrivals with the rows that stay. One that comes to lie beyond an end of the window, where others may
    /// be, is not shown.
    private mutating func merged(_ isBefore: (RowKey, RowKey) -> Bool) -> [(row: Row, section: AttributeValue)] {
        let rows = self.rows.map { (row: $0.row, section: $0.section) }
        guard !self.arrivals.isEmpty else { return rows }
        let arrivals = self.arrivals.sorted { isBefore($0.key, $1.key) }
        let keys: [RowKey] = self.rows.map { row in
            if case .terms(let terms) = self.shape.order { return self.key(of: row.base, terms) }
            return RowKey(values: [], id: row.row.id)
        }
        var merged: [(row: Row, section: AttributeValue)] = []
        merged.reserveCapacity(rows.count + arrivals.count)
        var next = 0
        for arrival in arrivals {
            while next < rows.count, isBefore(keys[next], arrival.key) {
                merged.append(rows[next])
                next += 1
            }
            let isNew = !self.known.shown.contains(arrival.row.id, in: self.index)
            let isBeforeAll = next == 0 && !self.shape.startsAtFirst
            let isAfterAll = next == rows.count && !self.shape.endsAtLast
            let counts = isNew && self.wasOutside(arrival.row.id)
            if counts { self.totalChange += 1 }
            if isBeforeAll || isAfterAll {
                self.result.pending.remove(arrival.row.id)
                // A row that moves before the window is one more before it, too.
                if isBeforeAll, !isAfterAll, counts || !isNew { self.countBefore += 1 }
            } else {
                merged.append((arrival.row, arrival.section))
            }
        }
        return merged + rows[next...]
    }

    /// Whether an object that no row shows was certainly not in the result. A window may not show it.
    private func wasOutside(_ id: ObjectID) -> Bool {
        self.shape.startsAtFirst && self.shape.endsAtLast || self.known.isFresh(id)
    }

    /// Puts the rows in the order of the list.
    private mutating func listed(
        _ rows: [(row: Row, section: AttributeValue)]
    ) -> [(row: Row, section: AttributeValue)] {
        guard case .list(let source) = self.shape.order,
            let sketch = self.known.lists[ListID(view: self.index, owner: source.object)]
        else { return rows }
        var shown = Dictionary(uniqueKeysWithValues: rows.map { ($0.row.id, $0.row) })
        let wasShown = Set(shown.keys)
        let entries = Set(sketch.entries)
        for arrival in self.arrivals {
            let id = arrival.row.id
            let counts = self.wasOutside(id)
            if sketch.before.contains(id) || sketch.after.contains(id) {
                if counts { self.totalChange += 1 }
                self.result.pending.remove(id)
                if counts, sketch.before.contains(id) { self.countBefore += 1 }
            } else if entries.contains(id), !sketch.uncertain.contains(id) {
                if counts { self.totalChange += 1 }
                shown[id] = arrival.row
            } else {
                self.result.undecided.insert(id)
            }
        }
        var ordered: [(row: Row, section: AttributeValue)] = []
        for id in sketch.entries {
            guard let row = shown.removeValue(forKey: id) else { continue }
            if sketch.uncertain.contains(id) { self.result.undecided.insert(id) }
            ordered.append((row, self.onlySection))
        }
        // Rows that were moved beyond the window's ends; others that the list does not mention stay last.
        for (row, section) in rows where shown[row.id] != nil && wasShown.contains(row.id) {
            if sketch.before.contains(row.id) || sketch.after.contains(row.id) {
                if sketch.before.contains(row.id) { self.countBefore += 1 }
                self.result.pending.remove(row.id)
            } else {
                self.result.undecided.insert(row.id)
                ordered.append((row, section))
            }
        }
        return ordered
    }

    /// Returns the rows of the server's state in its order.
    private mutating func inOldOrder(
        _ rows: [(row: Row, section: AttributeValue)]
    ) -> [(row: Row, section: AttributeValue)] {
        var kept = Dictionary(uniqueKeysWithValues: rows.map { ($0.row.id, $0) })
        for arrival in self.arrivals {
            self.result.undecided.insert(arrival.row.id)
            kept[arrival.row.id] = (arrival.row, arrival.section)
        }
        return self.base.sections.flatMap { section in
            section.rows.compactMap { row in kept[row.id].map { ($0.row, section.key) } }
        }
    }

    private mutating func publish(_ rows: [(row: Row, section: AttributeValue)]) {
        let totals = Dictionary(
            self.base.sections.map { ($0.key, $0.totals) },
            uniquingKeysWith: { first, _ in first }
        )
        var sections: [ResultsSection] = []
        for (row, section) in rows {
            if sections.last?.key != section {
                let known = totals[section]
                let unknown = [AttributeValue](repeating: .null, count: self.shape.request.totals.count)
                sections.append(ResultsSection(key: section, rows: [], totals: known ?? unknown))
            }
            sections[sections.count - 1].rows.append(row)
        }
        if self.shape.request.section == nil {
            let only = ResultsSection(key: self.onlySection, rows: [], totals: self.base.sections.first?.totals ?? [])
            if sections.isEmpty { sections = [only] }
        }
        self.result.state.sections = sections
        if var window = self.base.window {
            window.total += self.totalChange
            if self.countBefore != 0, self.shape.request.section == nil {
                window.begin(at: window.start.row + self.countBefore)
            } else {
                window.start.row += self.countBefore
            }
            self.result.state.window = window
        }
    }
}

extension PropertyPath {
    /// Whether it reads only the object itself.
    var isOwn: Bool {
        guard self.steps.isEmpty else { return self.steps.count == 1 && self.leaf == .object }
        switch self.leaf {
        case .object, .attribute: return true
        case .count, .aggregate, .countWhere: return false
        }
    }

    /// The property of the object that it is.
    var ownProperty: PropertyNumber? {
        if self.steps.isEmpty { return self.leaf.attribute }
        return self.steps.count == 1 && self.leaf == .object ? self.steps[0] : nil
    }
}

extension Comparison {
    /// Whether it reads only the object itself.
    var isOwn: Bool { self.quantifier == .one && self.operator != .inSubtree && self.path.isOwn }
}
