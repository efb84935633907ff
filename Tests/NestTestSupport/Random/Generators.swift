import NestModel

/// Random model values from the caller's seed.
extension SeededRandom {
    public mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[self.below(elements.count)]
    }

    public mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: self.next()) }
    }

    /// Returns a text with scalars of one to four bytes.
    public mutating func text(max: Int = 20) -> String {
        let scalars: [Unicode.Scalar] = ["a", "Z", " ", "\u{e9}", "e", "\u{301}", "\u{4e16}", "\u{1f600}", "\n", "\""]
        var text = String.UnicodeScalarView()
        for _ in 0..<self.below(max + 1) { text.append(self.pick(scalars)) }
        return String(text)
    }

    /// Returns an integer of random magnitude: small and huge ones are equally likely.
    public mutating func integer() -> Int64 {
        Int64(bitPattern: self.next()) >> Int64(self.below(64))
    }

    public mutating func identifier() -> Identifier128 {
        Identifier128(high: self.next(), low: self.next())
    }

    public mutating func objectID(max: Int64 = Limits.objectIDMax) -> ObjectID {
        ObjectID(Int64.random(in: 1...(self.oneIn(2) ? max : min(max, 100)), using: &self))
    }

    public mutating func attributeValue() -> AttributeValue {
        switch self.below(10) {
        case 0: .null
        case 1: .boolean(self.oneIn(2))
        case 2: .integer(self.integer())
        case 3: .double(Double(self.integer()) / 8)
        case 4: .date(self.integer())
        case 5: .data(self.bytes(self.below(80)))
        case 6: .uuid(self.identifier())
        case 7: .reference(self.objectID())
        default: .string(self.text(max: self.oneIn(8) ? 100 : 12))
        }
    }

    public mutating func revision() -> Revision {
        Revision(self.next() >> UInt64(2 + self.below(62)))
    }

    /// Returns a state of up to `rows` objects in sections with ascending keys, or in the single section of an
    /// unsectioned result.
    public mutating func snapshot(rows: Int, sections: Int, revision: Revision) -> SectionedSnapshot {
        var snapshot = SectionedSnapshot(
            revision: revision,
            projection: [PropertyNumber(1), PropertyNumber(3)],
            sections: [ResultsSection(key: .string(""), rows: [])]
        )
        var members: [Int: [Row]] = [:]
        for id in 1...max(rows, 1) where !self.oneIn(4) {
            members[self.below(sections), default: []].append(self.row(ObjectID(Int64(id))))
        }
        if sections == 1 {
            snapshot.sections[0].rows = (members[0] ?? []).shuffled(using: &self)
        } else {
            snapshot.sections = members.keys.sorted().map { key in
                ResultsSection(key: .integer(Int64(key)), rows: members[key]!.shuffled(using: &self))
            }
        }
        return snapshot
    }

    private mutating func row(_ id: ObjectID) -> Row {
        Row(id: id, values: [.string(self.text(max: 2)), .boolean(self.oneIn(2))])
    }

    /// Returns the state after `count` random edits that insert, delete, move and update rows. Sections follow their
    /// rows.
    public mutating func edited(_ old: SectionedSnapshot, edits count: Int, rows: Int, sections: Int)
        -> SectionedSnapshot
    {
        var members = sections == 1 ? [0: old.sections[0].rows] : [:]
        if sections > 1 {
            for section in old.sections {
                guard case .integer(let key) = section.key else { preconditionFailure("not an integer key") }
                members[Int(key)] = section.rows
            }
        }
        for _ in 0..<count {
            let id = ObjectID(Int64(1 + self.below(rows + 5)))
            let home = members.first { $0.value.contains { $0.id == id } }?.key
            let held = home.flatMap { members[$0]!.first { $0.id == id } }
            // One in three moved rows also changes its values.
            let row = self.oneIn(3) ? self.row(id) : held ?? self.row(id)
            if let home {
                let at = members[home]!.firstIndex { $0.id == id }!
                switch self.below(4) {
                case 0:
                    members[home]!.remove(at: at)
                    continue
                case 1:
                    members[home]![at] = self.row(id)
                    continue
                default:
                    members[home]!.remove(at: at)
                }
            }
            let target = self.below(sections)
            members[target, default: []].insert(row, at: self.below((members[target]?.count ?? 0) + 1))
        }
        var new = old
        new.revision = Revision(old.revision.rawValue + 1 + UInt64(self.below(3)))
        if sections == 1 {
            new.sections[0].rows = members[0]!
        } else {
            new.sections = members.keys.sorted().filter { !members[$0]!.isEmpty }
                .map { ResultsSection(key: .integer(Int64($0)), rows: members[$0]!) }
        }
        return new
    }
}
