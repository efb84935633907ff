import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

@Suite struct OrderTests {
    /// 20,000 insertions into the same gap keep the order, and each renumbers few rows: amortised O(log n).
    @Test func manyInsertionsIntoOneGapStayInOrderAndRenumberFew() throws {
        let fixture = try Fixture()
        let ends = try fixture.perform(Fixture.insert("a"), Fixture.insert("z"))
        var expected = [ends[0]]
        var renumbered = 0
        let count = 20_000
        for start in stride(from: 0, to: count, by: 500) {
            let changes = try #require(
                try fixture.commit { graph in
                    let mutations = (0..<500).map { Fixture.insert("\(start + $0)", .before(.object(ends[1]))) }
                    expected += try graph.perform(WriteTransaction(mutations: mutations)).flatMap(\.ids)
                }
            )
            renumbered += changes.repositions.count
        }
        expected.append(ends[1])
        #expect(try fixture.children(ObjectID(1)) == expected)
        #expect(renumbered < count * 20, "\(renumbered) rows renumbered for \(count) insertions")
    }

    /// Compares random places among many siblings with an array. Gaps run out often, because most insertions use the
    /// same few gaps.
    @Test func randomPlacesAgreeWithAnArray() throws {
        for seed in 0..<6 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let fixture = try Fixture()
            var siblings = try fixture.perform(Fixture.insert("0"), Fixture.insert("1"), Fixture.insert("2"))
            for step in 0..<60 {
                try fixture.commit { graph in
                    for _ in 0..<40 {
                        // Near the front, so that the same gaps are used again and again.
                        let index = random.below(min(siblings.count, 3))
                        let place: Place = random.oneIn(2) ? .after(.object(siblings[index])) : .at(index + 1)
                        if random.oneIn(3) {
                            let from = random.below(siblings.count)
                            let moving = siblings.remove(at: from)
                            let target = random.below(min(siblings.count, 3) + 1)
                            _ = try graph.perform(
                                WriteTransaction(mutations: [Fixture.move(moving, under: ObjectID(1), .at(target))])
                            )
                            siblings.insert(moving, at: target)
                        } else {
                            let ids = try graph.perform(WriteTransaction(mutations: [Fixture.insert("x", place)]))
                            siblings.insert(try #require(ids.flatMap(\.ids).last), at: index + 1)
                        }
                    }
                }
                #expect(try fixture.children(ObjectID(1)) == siblings, "seed \(seed), step \(step)")
            }
        }
    }

    @Test func movingToTheSamePositionChangesNothing() throws {
        let fixture = try Fixture()
        let ids = try fixture.perform(Fixture.insert("a"), Fixture.insert("b"), Fixture.insert("c"))
        let head = fixture.store.head
        for place in [Place.at(1), .after(.object(ids[0])), .before(.object(ids[2]))] {
            #expect(
                try fixture.commit {
                    _ = try $0.perform(WriteTransaction(mutations: [Fixture.move(ids[1], under: ObjectID(1), place)]))
                } == nil
            )
        }
        #expect(fixture.store.head == head)
    }

    @Test func invalidPlacesAreRefused() throws {
        let fixture = try Fixture()
        let ids = try fixture.perform(Fixture.insert("a"), Fixture.insert("b"))
        let inside = try fixture.perform(Fixture.insert("c", under: .object(ids[0])))
        expectRefusal(.indexOutOfRange) { try fixture.perform(Fixture.insert("d", .at(3))) }
        expectRefusal(.indexOutOfRange) { try fixture.perform(Fixture.move(ids[0], under: ObjectID(1), .at(2))) }
        expectRefusal(.invalid) { try fixture.perform(Fixture.insert("d", .after(.object(inside[0])))) }
        expectRefusal(.notFound) { try fixture.perform(Fixture.insert("d", .after(.object(ObjectID(99))))) }
        expectRefusal(.cycle) { try fixture.perform(Fixture.move(ids[0], under: inside[0])) }
        expectRefusal(.cycle) { try fixture.perform(Fixture.move(ids[0], under: ids[0])) }
        expectRefusal(.rootObject) { try fixture.perform(Fixture.move(ObjectID(1), under: ids[0])) }
        expectRefusal(.rootObject) { try fixture.perform(.delete(.object(ObjectID(1)))) }
        #expect(try fixture.children(ObjectID(1)) == ids)
    }

    /// Trees that are deeper and wider than the rows that one walk reads in a turn, with random pairs of their objects.
    @Test(arguments: [3, 70, 300]) func anObjectIsNeverPutInsideItself(_ width: Int) throws {
        var random = SeededRandom(seed: UInt64(width))
        let fixture = try Fixture()
        var ids: [ObjectID] = []
        var parents: [ObjectID: ObjectID] = [:]
        for index in 0..<(width * 2) {
            // The first half is a chain, the other objects are anywhere.
            let parent =
                index == 0
                ? ObjectID(1) : index < width ? ids[index - 1] : ids[Int.random(in: 0..<index, using: &random)]
            let id = try fixture.perform(Fixture.insert("\(index)", under: .object(parent)))[0]
            ids.append(id)
            parents[id] = parent
        }
        for _ in 0..<200 {
            let id = ids.randomElement(using: &random)!
            let owner = ids.randomElement(using: &random)!
            let isInside = sequence(first: owner) { parents[$0] }.contains(id)
            if isInside {
                expectRefusal(.cycle) { try fixture.perform(Fixture.move(id, under: owner)) }
            } else {
                try fixture.perform(Fixture.move(id, under: owner))
                parents[id] = owner
            }
        }
    }

    /// Moving an object with few objects inside under a deep owner reads about as much as moving it under an owner near
    /// the top.
    @Test func movesOfSmallTreesDoNotReadTheDepthOfTheOwner() throws {
        let fixture = try Fixture()
        let depth = 20_000
        let staged = try fixture.stage((0..<depth).map { ($0, "\($0)") }, under: ObjectID(1))
        var top = ObjectID(0)
        try fixture.commit { top = try $0.importSubtree(staged).first }
        let bottom = ObjectID(top.rawValue + Int64(depth) - 1)
        let small = try fixture.perform(Fixture.insert("small"))[0]
        try fixture.perform(Fixture.insert("inside", under: .object(small)))
        func steps(_ body: () throws -> Void) rethrows -> Int {
            let before = fixture.store.statementSteps
            try body()
            return fixture.store.statementSteps - before
        }
        let atTop = try steps { try fixture.perform(Fixture.move(small, under: top)) }
        let atBottom = try steps { try fixture.perform(Fixture.move(small, under: bottom)) }
        #expect(atBottom < atTop * 10 + 64 * 100)
    }
}
