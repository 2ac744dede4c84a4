//! Names of what Spark Connect runs. Spark names jobs and stages of an operation by its session and the beginning of its plan, which is the
//! same for all operations of a client. The tags of its jobs say which operation they are of, and which tags and user its client gave.

/// What names of stages and jobs of Spark Connect begin with.
const NAMED: &str = "Spark Connect - session_id: ";
/// How many characters of an operation's id are enough to name it.
const SHORT: usize = 8;

/// Returns the name of the operation of Spark Connect to which a job with these tags belongs: `Spark Connect nightly-report, user ann,
/// operation 2f3ab8cd`. `None` for other jobs.
pub(super) fn operation(tags: &str) -> Option<String> {
    let of = |kind: &'static str| tags.split(',').filter_map(move |tag| tag.trim().strip_prefix(kind));
    // User names may have underscores.
    let (client, id) = of("SparkConnect_OperationTag_User_").next()?.rsplit_once("_Operation_")?;
    let user = client.rsplit_once("_Session_").map_or("", |(user, _)| user);
    let given: Vec<&str> = of("SparkConnect_SessionTag_User_")
        .filter_map(|tag| tag.strip_prefix(client)?.strip_prefix("_Tag_"))
        .filter(|tag| !tag.is_empty())
        .collect();
    let mut name = "Spark Connect".to_owned();
    if !given.is_empty() {
        name += &format!(" {},", given.join(", "));
    }
    if !user.is_empty() {
        name += &format!(" user {user},");
    }
    Some(format!("{name} operation {}", id.get(..SHORT).unwrap_or(id)))
}

/// Names a stage like its job, if its own name is that of Spark Connect.
pub(super) fn name_stage(stage: &mut Option<Box<str>>, job: &str) {
    if stage.as_ref().is_some_and(|name| name.starts_with(NAMED))
        && let Some((_, description)) = job.split_once(": ")
    {
        *stage = Some(description.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_named_by_their_tags() {
        let id = "2f3ab8cd-8236-45c9-9a0b-fc854e802d2d";
        let of = |user: &str, tags: &[&str]| {
            let client = format!("{user}_Session_dfdbcefa-894c-43f4-ba61-f5678185fc45");
            let mut all = vec![format!("SparkConnect_OperationTag_User_{client}_Operation_{id}")];
            all.extend(tags.iter().map(|tag| format!("SparkConnect_SessionTag_User_{client}_Tag_{tag}")));
            all.push("spark-session-79cd50b9-execution-root-id-0".to_owned());
            operation(&all.join(","))
        };
        assert_eq!(of("", &[]).as_deref(), Some("Spark Connect operation 2f3ab8cd"));
        assert_eq!(of("", &["nightly-report"]).as_deref(), Some("Spark Connect nightly-report, operation 2f3ab8cd"));
        assert_eq!(
            of("a_b", &["x", "y_Tag_z"]).as_deref(),
            Some("Spark Connect x, y_Tag_z, user a_b, operation 2f3ab8cd")
        );
        assert_eq!(operation("spark-session-79cd50b9-execution-root-id-0"), None);
    }

    #[test]
    fn stages_of_operations_are_named_like_their_job() {
        let named = |stage: &str| {
            let mut name = Some(stage.into());
            name_stage(&mut name, "job 3: Spark Connect operation 2f3ab8cd");
            name.unwrap()
        };
        assert_eq!(&*named("Spark Connect - session_id: \"dfdbcefa\"\nplan {"), "Spark Connect operation 2f3ab8cd");
        assert_eq!(&*named("count at A.scala:1"), "count at A.scala:1");
    }
}
