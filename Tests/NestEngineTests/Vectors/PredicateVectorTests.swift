import Foundation
import NestEngine
import NestModel
import NestSchema
import NestStore
import NestTestSupport
import Testing

/// `Tests/Vectors/predicates.json`: the bytes and the truth of texts.
///
/// Three answers must agree: fetches, which narrow the candidates by SQL; live results, which test each changed object;
/// and the naive oracle.
@Suite struct PredicateVectorTests {
    @Test func predicatesAreAsInTheVectors() throws {
        let world = try PredicateVectorWorld()
        var file = VectorFile("predicates", about: Self.about)
        file.add("model", VectorWorld.modelHex)
        file.add("entities", VectorWorld.names)
        file.add("objects", JSONValue(list: VectorWorld.objects(world.naive)))
        file.add("rows", world.rows)
        file.add("cases", JSONValue(list: try PredicateVectorCases.all.map(world.vector)))
        file.add("programs", JSONValue(list: try PredicateVectorCases.programs.map(world.vector)))
        file.add("faults", JSONValue(list: PredicateVectorFaults.texts.map(Self.fault)))
        if let difference = try file.difference() { Issue.record("\(difference)") }
    }

    private static let about = """
        Predicates. model: the body of MODEL. entities: its names and numbers. objects: what a store holds; to-many \
        relationships are in related. rows: the objects of each entity and those below it. cases: a text, read with the \
        names of an entity, a zone (none: UTC) and a time (none: 0, 1970-01-01), gives exactly these bytes (section 9 of \
        protocol.md); truth has an element for each id in rows. \
        canonical is the text that the program prints. regex: it has a MATCHES, whose syntax is that of RE2. function: it has an @sum, @min, @max or @avg. programs: \
        bytes that no text gives, their truth, and the canonical bytes of the same predicate. faults: texts of Person \
        that are refused, with the column, counted from 1 in Unicode scalars, and the message.
        """

    private static func fault(_ text: String) -> JSONValue {
        do throws(PredicateSyntaxError) {
            let dates = DateReading(now: 0)
            _ = try FetchPredicate(text, of: VectorWorld.person, in: VectorWorld.model, dates: dates)
        } catch {
            return [
                "text": .string(text), "column": JSONValue(count: error.column), "message": .string(error.message),
            ]
        }
        Issue.record("not refused: \(text)")
        return .null
    }
}
