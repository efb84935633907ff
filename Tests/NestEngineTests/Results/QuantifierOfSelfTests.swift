import NestEngine
import NestModel
import NestTestSupport
import Testing

/// ANY, ALL and NONE of SELF, which is a single object. The text form cannot express it, but the wire format can.
@Suite struct QuantifierOfSelfTests {
    @Test(arguments: [Comparison.Quantifier.any, .all, .none])
    func quantifiersOfSelfAreRefused(_ quantifier: Comparison.Quantifier) throws {
        let fixture = try EngineFixture(isVolatile: true)
        let client = try fixture.connect(session: 1)
        let children = PropertyNumber(6)
        let comparisons = [
            Comparison(
                quantifier: quantifier,
                path: PropertyPath(leaf: .object),
                operator: .equal,
                values: [.reference(EngineFixture.root)]
            ),
            Comparison(
                quantifier: quantifier,
                path: PropertyPath(leaf: .object),
                operator: .inSubtree,
                values: [.reference(EngineFixture.root), .integer(Int64(children.rawValue))]
            ),
        ]
        for comparison in comparisons {
            let request = ObjectFetchRequest(entity: EngineFixture.item, predicate: FetchPredicate(comparison))
            let reply = try fixture.ask(client, .fetch(request, atLeast: Revision(0)))
            #expect(reply.error?.code == .invalidPredicate)
            #expect(reply.error?.message.contains("SELF leads to one") ?? false)
        }
    }
}
