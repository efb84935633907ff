import NestModel

extension UndoPredictor {
    // MARK: Updates

    mutating func revertUpdates() {
        for id in self.record.kept {
            let (before, after) = (self.record.before.objects[id]!, self.record.after.objects[id]!)
            let entity = self.record.before.entity(before.entity)
            let attributes = entity.attributes.filter { before.values[$0.number] != after.values[$0.number] }
            let relationships = entity.relationships.filter { !$0.isToMany && self.isChanged(id, $0) }
            guard !attributes.isEmpty || !relationships.isEmpty else { continue }
            guard self.found.lives(id) else {
                self.conflict([.deleted], [id])
                continue
            }
            for attribute in attributes {
                let now = self.found.objects[id]!.values[attribute.number]
                let old = before.values[attribute.number]
                let slot = UndoSlot(id: id, property: attribute.number)
                if self.result.left.contains(slot) {
                    self.skipSlot(slot, [.edited])
                    continue
                }
                if now != after.values[attribute.number], !self.isForced { self.result.left.insert(slot) }
                if now == old { continue }
                if now != after.values[attribute.number], !self.isForced {
                    self.conflict([.edited], [id], [attribute.number])
                } else {
                    if now != after.values[attribute.number] { self.overwrite([id], [attribute.number]) }
                    self.graph.objects[id]!.values[attribute.number] = old
                }
            }
            for relationship in relationships {
                if self.found.isPartner(relationship) {
                    self.revertPartner(id, relationship)
                } else {
                    self.revertMove(id, relationship)
                }
            }
        }
    }

    /// Skips a slot that a newer transaction of the entry did not revert. The reported conflict depends on the value
    /// before all transactions of the entry; there is none if the slot has that value now.
    private mutating func skipSlot(_ slot: UndoSlot, _ reasons: Set<UndoConflict.Reason>) {
        self.conflict(reasons, [slot.id], [slot.property], isRequired: false)
    }

    private func isChanged(_ id: ObjectID, _ relationship: RelationshipDescription) -> Bool {
        self.record.before.related(id, relationship.number) != self.record.after.related(id, relationship.number)
            || self.record.marksBefore.stamp(id, relationship.number)
                != self.record.marksAfter.stamp(id, relationship.number)
    }

    private mutating func revertMove(_ id: ObjectID, _ relationship: RelationshipDescription) {
        let owners = [self.record.before, self.record.after, self.found].map {
            $0.related(id, relationship.number).first
        }
        let marks = [self.record.marksBefore, self.record.marksAfter, self.foundMarks].map {
            $0.stamp(id, relationship.number)
        }
        let isOrdered = self.found.inverse(relationship).isOrdered
        let slot = UndoSlot(id: id, property: relationship.number)
        if self.result.left.contains(slot) { return self.skipSlot(slot, [.moved, .edited]) }
        var isWhereItWasPut = owners[2] == owners[1] && marks[2] == marks[1]
        if !isWhereItWasPut { isWhereItWasPut = self.isRehomed(id, relationship) }
        if !isWhereItWasPut, !self.isForced { self.result.left.insert(slot) }
        if !isWhereItWasPut {
            if owners[2] == owners[0], !isOrdered || marks[2] == marks[0] { return }
            if owners[2] == owners[0], owners[0] != owners[1] {
                // Another session has moved the object under its old owner. The contract leaves open whether this is
                // the target state.
                self.conflict([.moved], [id], [relationship.number], isRequired: false)
                if self.options.policy != .keep { self.open("\(id) was moved back by another session") }
                return
            }
            if !self.isForced {
                return self.conflict(isOrdered ? [.moved] : [.moved, .edited], [id], [relationship.number])
            }
            self.overwrite([id], [relationship.number], isRequired: owners[2] != owners[1])
        }
        if let owner = owners[0] {
            self.restoreOwner(id, relationship, owner)
        } else {
            self.release(id, relationship)
        }
    }

    private mutating func revertPartner(_ id: ObjectID, _ relationship: RelationshipDescription) {
        let partners = [self.record.before, self.record.after, self.found].map {
            $0.related(id, relationship.number).first
        }
        let slot = UndoSlot(id: id, property: relationship.number)
        if self.result.left.contains(slot) { return self.skipSlot(slot, [.edited, .ownerGone]) }
        // Either both partners are skipped or none.
        let end = partners[2].map { UndoSlot(id: $0, property: self.found.inverse(relationship).number) }
        let isLeft = partners[2] != partners[1] || end.map { self.result.left.contains($0) } ?? false
        if isLeft, !self.isForced { self.result.left.insert(slot) }
        if partners[2] == partners[0] { return }
        if isLeft, !self.isForced {
            let inverse = self.found.inverse(relationship).number
            return self.conflict(
                [.edited, .ownerGone],
                Set(partners.compactMap { $0 }).union([id]),
                [relationship.number, inverse]
            )
        }
        if isLeft {
            let inverse = self.found.inverse(relationship).number
            self.overwrite([id], [relationship.number])
            // Report the other partner too, unless the entry itself set it.
            if let other = partners[2] { self.overwrite([other], [inverse], isRequired: false) }
        }
        if let partner = partners[0] {
            self.restorePartner(id, relationship, partner)
        } else if self.graph.related(id, relationship.number).first == partners[2] {
            self.release(id, relationship)
        }
    }

    // MARK: Pairs

    mutating func revertPairs() {
        let (before, after, found) = (self.record.before.pairs, self.record.after.pairs, self.found.pairs)
        for side in before.subtracting(after).sorted() {
            let other = self.record.before.other(side)
            if found.contains(side) {
                self.conflict([.edited, .present, .moved], [side.owner, other.owner], isRequired: false)
                continue
            }
            guard self.graph.lives(side.owner), self.graph.lives(other.owner) else {
                let isAlone = !self.graph.lives(side.owner) && !self.graph.lives(other.owner)
                self.conflict([.ownerGone, .edited, .deleted], [side.owner, other.owner], isRequired: !isAlone)
                continue
            }
            if !self.present.isDisjoint(with: [side.owner, other.owner]) {
                self.conflict([.edited, .present], [side.owner, other.owner], isRequired: false)
                self.open("a pair of an object that exists again")
            }
            self.pair(side)
        }
        for side in after.subtracting(before).sorted() {
            let other = self.record.after.other(side)
            let objects: Set<ObjectID> = [side.owner, other.owner]
            guard found.contains(side) else {
                self.conflict([.edited, .ownerGone, .deleted], objects, isRequired: false)
                continue
            }
            let isGoing = self.record.inserted.contains { objects.contains($0) }
            let (made, now) = (self.record.marksAfter.pairs[side], self.foundMarks.pairs[side])
            let (madeThere, nowThere) = (self.record.marksAfter.pairs[other], self.foundMarks.pairs[other])
            if made?.identity != now?.identity {
                self.conflict([.edited, .moved], objects, isRequired: false)
                self.result.possibleRefusals.insert(.undoConflict)
                self.open("a pair was removed and added again")
            } else if made != now || madeThere != nowThere {
                if isGoing {
                    self.conflict([.moved], objects, isRequired: false)
                    self.result.possibleRefusals.insert(.undoConflict)
                    if !self.isForced { self.open("a pair of a deleted object was moved") }
                } else if !self.isForced {
                    self.conflict([.moved], objects)
                    continue
                }
                self.overwrite(objects, isRequired: false)
            }
            self.part(side)
        }
        for side in before.intersection(after).sorted() { self.revertPairMove(side) }
    }

    private mutating func revertPairMove(_ side: PlacementMarks.Side) {
        for side in [side, self.record.before.other(side)] {
            let marks = [self.record.marksBefore, self.record.marksAfter, self.foundMarks].map { $0.pairs[side] }
            if marks[0] == marks[1] { continue }
            if marks[0]?.identity != marks[1]?.identity { self.open("a pair was removed and added in one transaction") }
            let objects: Set<ObjectID> = [side.owner, side.object]
            // The pair was removed, or removed and added again.
            if marks[2]?.identity != marks[1]?.identity {
                self.conflict([.edited, .moved, .ownerGone, .deleted], objects, isRequired: false)
            } else if marks[2] == marks[0] {
                continue
            } else if marks[2] != marks[1], !self.isForced {
                self.conflict([.moved, .edited], objects)
            } else {
                if marks[2] != marks[1] { self.overwrite(objects) }
                self.put(side.object, in: self.graph.relationship(side), of: side.owner)
                self.result.marks.pairs[side] = marks[0]
            }
        }
    }

    private mutating func pair(_ side: PlacementMarks.Side) {
        let other = self.record.before.other(side)
        self.put(side.object, in: self.graph.relationship(side), of: side.owner)
        if other != side, self.graph.relationship(other).isOrdered {
            self.put(other.object, in: self.graph.relationship(other), of: other.owner)
        }
        for side in [side, other] { self.result.marks.pairs[side] = self.record.marksBefore.pairs[side] }
    }

    private mutating func part(_ side: PlacementMarks.Side) {
        self.graph.unlink(side.owner, self.graph.relationship(side), side.object)
        self.result.marks.pairs[side] = nil
        self.result.marks.pairs[self.record.after.other(side)] = nil
    }

    // MARK: Inserts

    mutating func deleteInsertedObjects() {
        var going: Set<ObjectID> = []
        for id in self.record.inserted {
            guard self.found.lives(id) else {
                self.conflict([.deleted], [id])
                continue
            }
            going.insert(id)
            guard self.hasLaterChanges(id) else { continue }
            guard self.isForced else {
                self.refuse(.undoConflict)
                continue
            }
            self.noteForcedDeleteRules(id)
            // Objects that it contains are reported by the objects deleted with it.
            self.reportLoss(id, isRequired: self.record.after.objects[id]!.values != self.found.objects[id]!.values)
        }
        guard !going.isEmpty else { return }
        let restored = self.graph
        for id in going { self.removeOwnLinks(id) }
        let cascade = self.reached(from: going)
        if self.isForced { self.reportLosses(cascade.subtracting(going), restored) }
        for id in cascade {
            for relationship in self.graph.entity(of: id).relationships {
                let staying = Set(self.graph.related(id, relationship.number)).subtracting(cascade)
                if staying.isEmpty { continue }
                if relationship.deleteRule == .deny { self.refuse(.deleteDenied) }
                if !self.isForced, relationship.isToMany, !self.graph.isPaired(relationship) {
                    self.holdsOthers(id, staying)
                }
            }
        }
        if !self.isForced, cascade != going { self.holdsOthers(going.min()!, cascade.subtracting(going)) }
        if !cascade.isDisjoint(with: self.graph.roots) { self.refuse(.rootObject) }
        for id in cascade {
            for relationship in self.graph.entity(of: id).relationships {
                for other in self.graph.related(id, relationship.number) {
                    self.result.marks.pairs[PlacementMarks.Side(id, relationship.number, other)] = nil
                    self.result.marks.pairs[PlacementMarks.Side(other, relationship.inverse, id)] = nil
                    self.result.marks.places[other]?[relationship.inverse] = nil
                }
            }
            self.graph.remove(id)
            self.result.marks.places[id] = nil
        }
    }

    /// Reports the other objects that the cascade deletes, and the references to them. Where the undo restores an
    /// object into a deleted one, the result is open.
    private mutating func reportLosses(_ others: Set<ObjectID>, _ restored: NaiveGraph) {
        for id in others.sorted() {
            let now = self.found.objects[id]
            let isPutBack = restored.entity(of: id).relationships.contains { relationship in
                now?.related[relationship.number] != restored.related(id, relationship.number)
            }
            if isPutBack {
                self.result.possibleRefusals.insert(.ownerGone)
                self.open("\(id) is restored into a deleted object")
            }
            if now != nil { self.reportLoss(id) }
        }
        for id in self.found.objects.keys { self.overwrite([id], isRequired: false) }
    }

    /// The contract leaves open whether delete rules are checked with or without the owner that another session set.
    private mutating func noteForcedDeleteRules(_ id: ObjectID) {
        let relationships = self.found.entity(of: id).relationships.filter { relationship in
            !relationship.isToMany && relationship.deleteRule != .nullify
                && !self.found.related(id, relationship.number).isEmpty
        }
        guard !relationships.isEmpty else { return }
        self.result.possibleRefusals.insert(.deleteDenied)
        self.open("\(id) is deleted, and its delete rules lead to its owner")
    }

    /// Removes the owners and partners that the transaction set, so that delete rules reach only later relations.
    private mutating func removeOwnLinks(_ id: ObjectID) {
        for relationship in self.graph.entity(of: id).relationships {
            let own = self.record.after.related(id, relationship.number)
            let now = self.graph.related(id, relationship.number)
            if !relationship.isToMany, now == own { self.release(id, relationship) }
            guard relationship.isToMany, !self.graph.isPaired(relationship) else { continue }
            // Older objects that the transaction moved under it are still there.
            let left = now.filter { own.contains($0) && self.record.before.lives($0) }
            if !left.isEmpty { self.holdsOthers(id, Set(left)) }
        }
    }

    private func reached(from going: Set<ObjectID>) -> Set<ObjectID> {
        var cascade = going
        while true {
            let count = cascade.count
            for id in cascade {
                for relationship in self.graph.entity(of: id).relationships where relationship.deleteRule == .cascade {
                    cascade.formUnion(self.graph.related(id, relationship.number))
                }
            }
            if cascade.count == count { return cascade }
        }
    }

    /// Notes that a deleted object contains older objects, which would be deleted with it or lose their owner.
    private mutating func holdsOthers(_ id: ObjectID, _ others: Set<ObjectID>) {
        self.result.possibleRefusals.formUnion([.undoConflict, .ownerGone, .deleteDenied, .validationFailed])
        self.open("\(id) is deleted and contains \(others.sorted()), which stay")
    }

    /// Whether the object was edited, moved or got related objects since.
    private mutating func hasLaterChanges(_ id: ObjectID) -> Bool {
        let (after, now) = (self.record.after.objects[id]!, self.found.objects[id]!)
        if after.values != now.values { return true }
        for relationship in self.found.entity(of: id).relationships {
            let number = relationship.number
            let came = Set(self.found.related(id, number)).subtracting(self.record.after.related(id, number))
            let isChanged =
                !came.isEmpty
                || !relationship.isToMany
                    && (self.found.related(id, number) != self.record.after.related(id, number)
                        || self.foundMarks.stamp(id, number) != self.record.marksAfter.stamp(id, number))
            if isChanged, relationship.isToMany || !self.isRehomed(id, relationship) { return true }
        }
        return false
    }
}
