import NestModel
import NestDocuments
import Testing

@Suite struct ModelDrawingTests {
    @Test func modelsAreDrawnAsText() throws {
        let lines = ModelDrawing.lines(of: try readModel(Samples.harbour).draft.compile())
        let drawing = """
            Vessel (abstract, labelled by callSign)
              callSign       string     2 to 8 characters, unique
              crew           integer16  optional, default 0, 0 to 400
              launched       date       optional
              berth     -->  Berth      optional, inverse vessels, nullify

            Ferry is a Vessel (was Boat)
              fare         decimal  default "0", indexed
              log          data     optional
              routes  -->> Route    optional, ordered, 1 to 12, inverse ferries, deny

            Route
              code          uuid
              added         date   default now
              ferries  -->> Ferry  optional, inverse routes, nullify

            Berth
              depth         float   optional, default 4.5
              vessels  -->> Vessel  optional, inverse berth, cascade
            """
        #expect(lines.joined(separator: "\n") == drawing, "\n\(lines.joined(separator: "\n"))")
    }
}
