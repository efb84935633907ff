import NestModel

extension UndoPredictor {
    // MARK: What it changed

    mutating func changeBack() {
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
                    self.leaveAgain(slot, [.edited])
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
                    self.changePartnerBack(id, relationship)
                } else {
                    self.moveBack(id, relationship)
                }
            }
        }
    }

    /// A newer transaction of the entry has left the slot. What is told of it goes by what it was before all of them, and is no
    /// conflict when that is what it is now.
    private mutating func leaveAgain(_ slot: UndoSlot, _ reasons: Set<UndoConflict.Reason>) {
        self.conflict(reasons, [slot.id], [slot.property], isRequired: false)
    }

    private func isChanged(_ id: ObjectID, _ relationship: RelationshipDescription) -> Bool {
        self.record.before.related(id, relationship.number) != self.record.after.related(id, relationship.number)
            || self.record.marksBefore.stamp(id, relationship.number)
                != self.record.marksAfter.stamp(id, relationship.number)
    }

    private mutating func moveBack(_ id: ObjectID, _ relationship: RelationshipDescription) {
        let owners = [self.record.before, self.record.after, self.found].map {
            $0.related(id, relationship.number).first
        }
        let marks = [self.record.marksBefore, self.record.marksAfter, self.foundMarks].map {
            $0.stamp(id, relationship.number)
        }
        let isOrdered = self.found.inverse(relationship).isOrdered
        let isWhereItWasPut = owners[2] == owners[1] && marks[2] == marks[1]
        let slot = UndoSlot(id: id, property: relationship.number)
        if self.result.left.contains(slot) { return self.leaveAgain(slot, [.moved, .edited]) }
        if !isWhereItWasPut, !self.isForced { self.result.left.insert(slot) }
        if !isWhereItWasPut {
            if owners[2] == owners[0], !isOrdered || marks[2] == marks[0] { return }
            if owners[2] == owners[0], owners[0] != owners[1] {
                // Under whom it was, but somebody else has put it there: whether that is "as it would become" is open.
                self.conflict([.moved], [id], [relationship.number], isRequired: false)
                if self.options.policy != .keep { self.open("\(id) is under its old owner at another's place") }
                return
            }
            if !self.isForced {
                return self.conflict(isOrdered ? [.moved] : [.moved, .edited], [id], [relationship.number])
            }
            self.overwrite([id], [relationship.number], isRequired: owners[2] != owners[1])
        }
        if let owner = owners[0] {
            self.ownerBack(id, relationship, owner)
        } else {
            self.release(id, relationship)
        }
    }

    private mutating func changePartnerBack(_ id: ObjectID, _ relationship: RelationshipDescription) {
        let partners = [self.record.before, self.record.after, self.found].map {
            $0.related(id, relationship.number).first
        }
        let slot = UndoSlot(id: id, property: relationship.number)
        if self.result.left.contains(slot) { return self.leaveAgain(slot, [.edited, .ownerGone]) }
        // Of two that are joined both are left, or none.
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
            // The other's partner, unless that is the entry's own doing.
            if let other = partners[2] { self.overwrite([other], [inverse], isRequired: false) }
        }
        if let partner = partners[0] {
            self.partnerBack(id, relationship, partner)
        } else if self.graph.related(id, relationship.number).first == partners[2] {
            self.release(id, relationship)
        }
    }

    // MARK: Pairs

    mutating func pairBack() {
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
                self.open("a pair of an object that is there again")
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
                self.open("a pair has been made anew")
            } else if made != now || madeThere != nowThere {
                if isGoing {
                    self.conflict([.moved], objects, isRequired: false)
                    self.result.possibleRefusals.insert(.undoConflict)
                    if !self.isForced { self.open("a pair of what goes was moved") }
                } else if !self.isForced {
                    self.conflict([.moved], objects)
                    continue
                }
                self.overwrite(objects, isRequired: false)
            }
            self.part(side)
        }
        for side in before.intersection(after).sorted() { self.movePairBack(side) }
    }

    private mutating func movePairBack(_ side: PlacementMarks.Side) {
        for side in [side, self.record.before.other(side)] {
            let marks = [self.record.marksBefore, self.record.marksAfter, self.foundMarks].map { $0.pairs[side] }
            if marks[0] == marks[1] { continue }
            if marks[0]?.identity != marks[1]?.identity { self.open("a pair was made anew in one transaction") }
            let objects: Set<ObjectID> = [side.owner, side.object]
            // Gone; or gone and made anew.
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

    // MARK: What it inserted

    mutating func takeAway() {
        var going: Set<ObjectID> = []
        for id in self.record.inserted {
            guard self.found.lives(id) else {
                self.conflict([.deleted], [id])
                continue
            }
            going.insert(id)
            guard self.isTouched(id) else { continue }
            guard self.isForced else {
                self.refuse(.undoConflict)
                continue
            }
            self.judgeForced(id)
            // What it holds is told by what goes with it.
            self.lose(id, isRequired: self.record.after.objects[id]!.values != self.found.objects[id]!.values)
        }
        guard !going.isEmpty else { return }
        let restored = self.graph
        for id in going { self.takeLinksBack(id) }
        let doomed = self.reached(from: going)
        if self.isForced { self.tellLosses(doomed.subtracting(going), restored) }
        for id in doomed {
            for relationship in self.graph.entity(of: id).relationships {
                let staying = Set(self.graph.related(id, relationship.number)).subtracting(doomed)
                if staying.isEmpty { continue }
                if relationship.deleteRule == .deny { self.refuse(.deleteDenied) }
                if !self.isForced, relationship.isToMany, !self.graph.isPaired(relationship) {
                    self.holdsOthers(id, staying)
                }
            }
        }
        if !self.isForced, doomed != going { self.holdsOthers(going.min()!, doomed.subtracting(going)) }
        if !doomed.isDisjoint(with: self.graph.roots) { self.refuse(.rootObject) }
        for id in doomed {
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

    /// Others go, and what leads to anything that goes leads there no more. What the undo has put back among them stays where
    /// it was: where that is another's test.
    private mutating func tellLosses(_ others: Set<ObjectID>, _ restored: NaiveGraph) {
        for id in others.sorted() {
            let now = self.found.objects[id]
            let isPutBack = restored.entity(of: id).relationships.contains { relationship in
                now?.related[relationship.number] != restored.related(id, relationship.number)
            }
            if isPutBack {
                self.result.possibleRefusals.insert(.ownerGone)
                self.open("\(id) goes back into what goes")
            }
            if now != nil { self.lose(id) }
        }
        for id in self.found.objects.keys { self.overwrite([id], isRequired: false) }
    }

    /// Whether its delete rules are judged with the owner that it was given, or without, is open.
    private mutating func judgeForced(_ id: ObjectID) {
        let relationships = self.found.entity(of: id).relationships.filter { relationship in
            !relationship.isToMany && relationship.deleteRule != .nullify
                && !self.found.related(id, relationship.number).isEmpty
        }
        guard !relationships.isEmpty else { return }
        self.result.possibleRefusals.insert(.deleteDenied)
        self.open("\(id) goes, and its delete rules lead to whom it is under")
    }

    /// The owners and partners that it was given go first: delete rules reach only what came since.
    private mutating func takeLinksBack(_ id: ObjectID) {
        for relationship in self.graph.entity(of: id).relationships {
            let own = self.record.after.related(id, relationship.number)
            let now = self.graph.related(id, relationship.number)
            if !relationship.isToMany, now == own { self.release(id, relationship) }
            guard relationship.isToMany, !self.graph.isPaired(relationship) else { continue }
            // What was there before came under it, and was left under it.
            let left = now.filter { own.contains($0) && self.record.before.lives($0) }
            if !left.isEmpty { self.holdsOthers(id, Set(left)) }
        }
    }

    private func reached(from going: Set<ObjectID>) -> Set<ObjectID> {
        var doomed = going
        while true {
            let count = doomed.count
            for id in doomed {
                for relationship in self.graph.entity(of: id).relationships where relationship.deleteRule == .cascade {
                    doomed.formUnion(self.graph.related(id, relationship.number))
                }
            }
            if doomed.count == count { return doomed }
        }
    }

    /// What was there before the transaction, and was left where it is, would go or lose its owner with what goes.
    private mutating func holdsOthers(_ id: ObjectID, _ others: Set<ObjectID>) {
        self.result.possibleRefusals.formUnion([.undoConflict, .ownerGone, .deleteDenied, .validationFailed])
        self.open("\(id) goes and holds \(others.sorted()), which stay")
    }

    /// Edited, moved, or holding what came since.
    private func isTouched(_ id: ObjectID) -> Bool {
        let (after, now) = (self.record.after.objects[id]!, self.found.objects[id]!)
        if after.values != now.values { return true }
        return self.found.entity(of: id).relationships.contains { relationship in
            let number = relationship.number
            let came = Set(self.found.related(id, number)).subtracting(self.record.after.related(id, number))
            if !came.isEmpty { return true }
            guard !relationship.isToMany else { return false }
            return self.found.related(id, number) != self.record.after.related(id, number)
                || self.foundMarks.stamp(id, number) != self.record.marksAfter.stamp(id, number)
        }
    }
}
