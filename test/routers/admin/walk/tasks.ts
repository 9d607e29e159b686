import type { RouterWalk, Walk } from './walk.ts';

/** A task of the walk's Site that no worker takes, because none runs. */
async function startTask({ service, code }: Walk): Promise<void> {
  await service.services.orm.em.fork().transactional(async (em) => {
    const [site] = await service.database.query<{ id: string }>(
      'select id from site where code = $1',
      [code],
    );
    await service.services.startTask(em.getKysely(), {
      kind: 'walk',
      siteId: BigInt(site?.id ?? 0),
      input: { about: code },
      by: 'walk',
      at: service.clock.at,
    });
  });
}

const newestTask = async ({ service }: Walk): Promise<string> => {
  const [row] = await service.database.query<{ id: string }>(
    'select id from task order by id desc limit 1',
  );
  return row?.id ?? '';
};

/** Long work that is stopped. */
export const tasksWalk: RouterWalk = {
  steps: [
    {
      path: 'tasks.cancel',
      before: startTask,
      input: async (walk) => ({
        task_id: await newestTask(walk),
        reason: `canceled for ${walk.code}`,
      }),
    },
  ],
  queries: {
    'tasks.status': (walk) => ({ task_id: walk.answer('tasks.cancel')['task_id'] }),
  },
};
