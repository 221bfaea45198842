//! The OpenAPI description of the service, from the types and parameters that it uses.

use crate::query::{self, Form, Parameter};
use crate::types::{
    CellChangeNotification, DOCUMENT, ExpiryNotification, L2Meas, PlmnInfo, ProblemDetails,
    REPORTS, ROOT, RabEstNotification, RabInfo, RabRelNotification, RanReportNotification,
    RanReports, S1BearerInfo, SubscriptionLinkList, WrittenSubscription,
};
use utoipa::ToSchema;
use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, ParameterBuilder, ParameterIn, PathItem, PathsBuilder,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, Content, InfoBuilder, LicenseBuilder, OpenApiBuilder, Ref, RefOr, Required,
    ResponseBuilder, Schema,
};

const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";
const UNSERVED: &str = "It cannot be served so. Of the standard's types of subscriptions only \
                        RabEstSubscription, RabRelSubscription and CellChangeSubscription (of \
                        completed handovers) are: a report has no signal strengths, timing \
                        advances, carriers or tunnels";

/// The description as JSON, with the end of its last line.
#[must_use]
pub fn document() -> String {
    let mut paths = PathsBuilder::new()
        .path(DOCUMENT, item(HttpMethod::Get, describe()))
        .path(REPORTS, item(HttpMethod::Get, reports()));
    for (name, operation) in [
        ("rab_info", query_of::<RabInfo>("rab_info", query::RAB_INFO, "Bearers of UEs")),
        ("plmn_info", networks()),
        (
            "s1_bearer_info",
            query_of::<S1BearerInfo>(
                "s1_bearer_info",
                query::S1_BEARER_INFO,
                "S1 bearers of UEs, without the ends of their tunnels",
            ),
        ),
        (
            "layer2_meas",
            query_of::<L2Meas>("layer2_meas", query::LAYER2_MEAS, "Measurements of layer 2"),
        ),
    ] {
        paths = paths.path(format!("{ROOT}/queries/{name}"), item(HttpMethod::Get, operation));
    }
    let mut all = item(HttpMethod::Get, list());
    all.merge_operations(item(HttpMethod::Post, subscribe()));
    let mut one = item(HttpMethod::Get, subscription());
    one.merge_operations(item(HttpMethod::Put, resubscribe()));
    one.merge_operations(item(HttpMethod::Delete, unsubscribe()));
    let paths = paths
        .path(format!("{ROOT}/subscriptions"), all)
        .path(format!("{ROOT}/subscriptions/{{subscriptionId}}"), one);
    let info = InfoBuilder::new()
        .title("justfull rnis")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "ETSI GS MEC 012 Radio Network Information API V2.1.1 as `justfull rnis` serves it, \
             with an extension: reports of the radio, by query and by subscription.",
        ))
        .license(Some(LicenseBuilder::new().name("MIT OR Apache-2.0").build()));
    let api = OpenApiBuilder::new().info(info).paths(paths).components(Some(components())).build();
    let text = api.to_pretty_json().unwrap_or_default();
    format!("{text}\n")
}

/// Every type, and the types of its fields.
fn components() -> utoipa::openapi::Components {
    let mut schemas: Vec<(String, RefOr<Schema>)> = Vec::new();
    add::<RabInfo>(&mut schemas);
    add::<PlmnInfo>(&mut schemas);
    add::<L2Meas>(&mut schemas);
    add::<S1BearerInfo>(&mut schemas);
    add::<RanReports>(&mut schemas);
    add::<WrittenSubscription>(&mut schemas);
    add::<SubscriptionLinkList>(&mut schemas);
    add::<ProblemDetails>(&mut schemas);
    add::<RabEstNotification>(&mut schemas);
    add::<RabRelNotification>(&mut schemas);
    add::<CellChangeNotification>(&mut schemas);
    add::<RanReportNotification>(&mut schemas);
    add::<ExpiryNotification>(&mut schemas);
    ComponentsBuilder::new()
        .schemas_from_iter(schemas)
        .security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)))
        .build()
}

fn add<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

fn item(method: HttpMethod, operation: Operation) -> PathItem {
    PathItem::new(method, operation)
}

fn reference<T: ToSchema>() -> Ref {
    Ref::from_schema_name(T::name().into_owned())
}

fn schema(form: Form) -> RefOr<Schema> {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let number = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0_u32))
        .maximum(Some(u32::MAX));
    let format = |format| text().format(Some(SchemaFormat::KnownFormat(format)));
    let item = match form {
        Form::Text | Form::Texts => text(),
        Form::Number | Form::Numbers => number,
        Form::Ipv4s => format(KnownFormat::Ipv4),
        Form::Ipv6s => format(KnownFormat::Ipv6),
    };
    match form {
        Form::Text | Form::Number => item.into(),
        _ => ArrayBuilder::new().items(RefOr::from(item)).into(),
    }
}

/// An operation that refuses malformed requests and unknown users.
fn operation(id: &str, summary: &str, parameters: &[Parameter]) -> OperationBuilder {
    let mut operation = OperationBuilder::new()
        .operation_id(Some(id))
        .summary(Some(summary))
        .security(SecurityRequirement::default())
        .security(SecurityRequirement::new("token", [""; 0]));
    for Parameter { name, form, required, text } in parameters {
        let required = if *required { Required::True } else { Required::False };
        operation = operation.parameter(
            ParameterBuilder::new()
                .name(*name)
                .parameter_in(ParameterIn::Query)
                .required(required)
                .description(Some(*text))
                .schema(Some(schema(*form))),
        );
    }
    for (status, what) in [
        ("400", "A parameter or the body is wrong"),
        ("401", "A token is missing or not valid"),
        ("403", "The token is not for this"),
    ] {
        operation = operation.response(status, problem(what));
    }
    operation
}

fn problem(what: &str) -> ResponseBuilder {
    let content = Content::new(Some(reference::<ProblemDetails>()));
    ResponseBuilder::new().description(what).content(PROBLEM, content)
}

fn answer(schema: impl Into<RefOr<Schema>>) -> ResponseBuilder {
    ResponseBuilder::new().description("Done").content(JSON, Content::new(Some(schema)))
}

fn query_of<T: ToSchema>(id: &str, parameters: &[Parameter], summary: &str) -> Operation {
    operation(id, summary, parameters).response("200", answer(reference::<T>())).build()
}

fn describe() -> Operation {
    let any = ObjectBuilder::new().schema_type(Type::Object);
    OperationBuilder::new()
        .operation_id(Some("openapi"))
        .summary(Some("This description"))
        .response("200", answer(any))
        .build()
}

fn reports() -> Operation {
    query_of::<RanReports>(
        "ran_reports",
        query::RAN_REPORTS,
        "The last report of each UE (extension)",
    )
}

fn networks() -> Operation {
    operation("plmn_info", "Networks of application instances", query::PLMN_INFO)
        .response("200", answer(ArrayBuilder::new().items(reference::<PlmnInfo>())))
        .build()
}

fn list() -> Operation {
    query_of::<SubscriptionLinkList>("subscriptions", query::SUBSCRIPTIONS, "Own subscriptions")
}

/// An operation with one subscription's number in its path.
fn numbered(id: &str, summary: &str) -> OperationBuilder {
    operation(id, summary, &[])
        .parameter(
            ParameterBuilder::new()
                .name("subscriptionId")
                .parameter_in(ParameterIn::Path)
                .required(Required::True)
                .schema(Some(schema(Form::Text))),
        )
        .response("404", problem("There is no such subscription"))
}

/// Adds a subscription as the body.
fn posting(operation: OperationBuilder) -> OperationBuilder {
    let body = RequestBodyBuilder::new()
        .required(Some(Required::True))
        .content(JSON, Content::new(Some(reference::<WrittenSubscription>())))
        .build();
    operation
        .request_body(Some(body))
        .response("413", problem("The body is longer than 256 KiB"))
        .response("415", problem("The body is not application/json"))
        .response("422", problem(UNSERVED))
        .response("429", problem("There are as many subscriptions as there may be"))
}

fn subscribe() -> Operation {
    posting(operation("subscribe", "Subscribes", &[]))
        .response("201", answer(reference::<WrittenSubscription>()))
        .build()
}

fn subscription() -> Operation {
    numbered("subscription", "A subscription")
        .response("200", answer(reference::<WrittenSubscription>()))
        .build()
}

fn resubscribe() -> Operation {
    posting(numbered("resubscribe", "Changes a subscription, or its end"))
        .response("200", answer(reference::<WrittenSubscription>()))
        .build()
}

fn unsubscribe() -> Operation {
    numbered("unsubscribe", "Ends a subscription")
        .response("204", ResponseBuilder::new().description("Done"))
        .build()
}
