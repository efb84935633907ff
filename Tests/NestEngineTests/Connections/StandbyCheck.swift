import NestProtocol
import NestEngine
import NestModel
import NestStore
import Testing

/// Checks that the standby answers a read as the engine does.
enum StandbyCheck {
    /// `engine`: the engine's answer.
    static func expect(
        _ request: EngineRequest,
        as engine: EngineReply,
        _ reader: StoreReader,
        scope: AuthorisationScope = .everything
    ) throws {
        let standing = try StandingReader(reader)
        defer { standing.close() }
        _ = try standing.begin()
        let client = EngineShare.Client(scope: scope, takesCompressed: false)
        switch try StandbyAnswer(request, client, standing, backgroundReadRowsMin: 20) {
        case .reply(let reply): Self.expect(reply, engine, request)
        case .large(let read):
            switch read.run(reader) {
            case .success(let rows): Self.expect(rows.reply, engine, request)
            case .failure(let error): Self.expect(.failure(error), engine, request)
            }
        case .none:
            // Only the engine knows the revision that a confined client sees of an object.
            guard case .object = request, scope != .everything else {
                Issue.record("no answer to \(request)")
                return
            }
        }
    }

    private static func expect(_ reply: EngineReply, _ engine: EngineReply, _ request: EngineRequest) {
        switch (reply, engine) {
        case (
            .snapshot(let header, let bodies, let totals),
            .snapshot(let expected, let expectedBodies, let expectedTotals)
        ):
            #expect(header == expected && totals == expectedTotals, "\(request)")
            // Large answers may be split differently. Small ones have one body.
            #expect(bodies.map(\.bytes) == expectedBodies.map(\.bytes), "\(request)")
        case (.object(let object), .object(let expected)):
            #expect(object == expected)
        case (.failure(let error), .failure(let expected)):
            #expect(error.code == expected.code && error.message == expected.message, "\(request)")
        default:
            Issue.record("\(reply), not \(engine), to \(request)")
        }
    }
}
