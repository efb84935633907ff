import NestModel
import NestStore
import NestTestSupport
import Testing

@Suite struct AppendTests {
    /// Appending puts an object after the last one, whatever has happened to the last one since the previous append: it
    /// was moved away, deleted or passed by another, or was never stored because its request was rolled back.
    @Test func appendsAgreeWithArrays() throws {
        for seed in 0..<6 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let fixture = try Fixture()
            let owners = try fixture.perform(Fixture.insert("a"), Fixture.insert("b"))
            var lists: [[ObjectID]] = [[], []]
            for step in 0..<100 {
                let owner = random.below(2)
                let parent = ObjectReference.object(owners[owner])
                switch lists[owner].isEmpty ? 0 : random.below(8) {
                case 0, 1, 2:
                    lists[owner] += try fixture.perform(Fixture.insert("x", under: parent))
                case 3:
                    lists[owner].insert(
                        contentsOf: try fixture.perform(Fixture.insert("x", under: parent, .first)),
                        at: 0
                    )
                case 4:
                    _ = try fixture.perform(.delete(.object(lists[owner].removeLast())))
                case 5:
                    let moved = lists[owner].removeLast()
                    let target = random.below(2)
                    _ = try fixture.perform(Fixture.move(moved, under: owners[target]))
                    lists[target].append(moved)
                case 6:
                    let moved = lists[owner].removeLast()
                    _ = try fixture.perform(Fixture.move(moved, under: owners[owner], .first))
                    lists[owner].insert(moved, at: 0)
                default:
                    // The second step is refused: the first one has no effect.
                    expectRefusal(.notFound) {
                        _ = try fixture.perform(
                            Fixture.insert("never", under: parent),
                            Fixture.move(ObjectID(999_999), under: owners[owner])
                        )
                    }
                }
                for (owner, list) in zip(owners, lists) {
                    #expect(try fixture.children(owner) == list, "seed \(seed), step \(step)")
                }
            }
        }
    }
}
